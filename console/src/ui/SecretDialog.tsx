/** A secret that is shown this one time: it can be copied, and is gone when the person says that they have it. */
import { Button, CopyButton, Group, Modal } from "@mantine/core";
import type { ReactNode } from "react";

import { Icon } from "./Icon";
import css from "./SecretDialog.module.css";

export function SecretDialog({ title, what, secret, onDone, children }: { title: string; what: string; secret: string | null; onDone: () => void; children?: ReactNode }) {
  return (
    <Modal opened={secret !== null} onClose={onDone} title={title} withCloseButton={false} closeOnClickOutside={false} closeOnEscape={false}>
      <p>{children ?? `This is the only time that the ${what} is shown. Keep it where you keep passwords.`}</p>
      <code className={css.secret} role="group" aria-label={what} tabIndex={0}>
        {secret}
      </code>
      <Group justify="flex-end" mt="lg">
        <CopyButton value={secret ?? ""}>
          {({ copied, copy }) => (
            <Button variant="default" leftSection={<Icon name={copied ? "check" : "copy"} size={16} />} onClick={copy} data-autofocus>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
        <Button onClick={onDone}>I have it</Button>
      </Group>
    </Modal>
  );
}
