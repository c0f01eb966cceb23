/** A form over the page it belongs to: what is refused is said inside, and what was typed stays. */
import { Button, Group, Modal } from "@mantine/core";
import type { ReactNode } from "react";

import type { Sending } from "./form";
import css from "./form.module.css";
import { Trouble } from "./Page";

export function FormDialog(props: { title: string; lead?: ReactNode; sending: Sending; submit: string; onClose: () => void; children?: ReactNode; size?: string | number }) {
  return (
    <Modal opened onClose={props.onClose} title={props.title} size={props.size} centered radius={12} overlayProps={{ backgroundOpacity: 0.35, blur: 2 }}>
      <form onSubmit={props.sending.onSubmit} noValidate className={css.fields}>
        {props.lead && <div className="quiet">{props.lead}</div>}
        {props.children}
        {props.sending.problem !== null && <Trouble error={props.sending.problem} />}
        <Group justify="flex-end">
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
