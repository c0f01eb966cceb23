/** A form in a dialog: what it does, its fields, what went wrong, and two buttons. */
import { Button, Group, Modal, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";

import { Disabled } from "./Disabled";
import type { Sending } from "./form";
import css from "./form.module.css";
import { ErrorMessage } from "./Page";

interface Props {
  title: string;
  sending: Sending;
  submit: string;
  /** What it does, in a sentence. */
  lead?: ReactNode;
  onClose: () => void;
  children?: ReactNode;
  size?: string | number;
  /** Something is lost by it: the button is red. */
  loses?: boolean;
  /** A label that has to be typed before. */
  confirm?: string;
  /** Why it cannot be sent now. */
  held?: string | false;
}

export function FormDialog({ title, lead, sending, submit, onClose, children, size = "md", loses = false, confirm, held }: Props) {
  const [typed, setTyped] = useState("");
  const open = confirm === undefined || typed === confirm;
  return (
    <Modal opened onClose={onClose} title={title} size={size}>
      <form
        noValidate
        className={css.fields}
        onSubmit={(event) => {
          if (open && !held) sending.onSubmit(event);
          else event.preventDefault();
        }}
      >
        {lead && <div className="quiet">{lead}</div>}
        {children}
        {confirm !== undefined && <TextInput label={`Type ${confirm} to confirm`} value={typed} onChange={(change) => setTyped(change.currentTarget.value)} autoComplete="off" spellCheck={false} />}
        {sending.problem !== null && <ErrorMessage error={sending.problem} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {loses ? "Keep it" : "Cancel"}
          </Button>
          <Disabled reason={held}>
            <Button type="submit" color={loses ? "red.8" : undefined} loading={sending.busy} disabled={!open}>
              {submit}
            </Button>
          </Disabled>
        </Group>
      </form>
    </Modal>
  );
}
