/** A small form in a dialog: what went wrong stays inside, and what was typed stays until it is closed. */
import { Button, Group, Modal } from "@mantine/core";
import type { ReactNode } from "react";

import { Fields, type Sending } from "./form";
import { Trouble } from "./Page";

export function FormDialog(props: { title: string; submit: string; sending: Sending; onClose: () => void; children: ReactNode; size?: string }) {
  return (
    <Modal opened onClose={props.onClose} title={props.title} centered radius={12} size={props.size ?? "md"} overlayProps={{ backgroundOpacity: 0.35, blur: 2 }}>
      <form onSubmit={props.sending.onSubmit} noValidate>
        <Fields>
          {props.children}
          {props.sending.problem !== null && <Trouble error={props.sending.problem} />}
        </Fields>
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={props.onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={props.sending.busy}>
            {props.submit}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
