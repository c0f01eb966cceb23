/** A name that is changed where it stands: the pencil makes it a field, Enter keeps it, Escape leaves it as it was. */
import { ActionIcon, Button, TextInput, Tooltip } from "@mantine/core";
import { type FormEvent, type ReactNode, useState } from "react";

import { Disabled } from "./Disabled";
import { Icon } from "./Icon";
import css from "./Rename.module.css";

export function Rename({ label, held, onRename, children }: { label: string; held?: string; onRename: (label: string) => Promise<unknown>; children: ReactNode }) {
  const [typed, setTyped] = useState<string | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const leave = () => {
    setTyped(null);
    setRefusal(null);
  };
  if (typed === null)
    return (
      <div className={css.name}>
        {children}
        <Disabled reason={held}>
          <ActionIcon variant="subtle" color="gray" aria-label={`Rename ${label}`} onClick={() => setTyped(label)}>
            <Tooltip label="Rename">
              <span>
                <Icon name="pencil" size={16} />
              </span>
            </Tooltip>
          </ActionIcon>
        </Disabled>
      </div>
    );
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (typed === null || typed === label) return leave();
    setBusy(true);
    try {
      await onRename(typed);
      leave();
    } catch (problem) {
      setRefusal(problem instanceof Error ? problem.message : String(problem));
    } finally {
      setBusy(false);
    }
  }
  return (
    <form className={css.form} onSubmit={(event) => void submit(event)} onKeyDown={(key) => key.key === "Escape" && leave()} noValidate>
      <h1 className="unseen">{label}</h1>
      <TextInput aria-label="Name" value={typed} onChange={(change) => setTyped(change.currentTarget.value)} error={refusal} autoFocus autoComplete="off" spellCheck={false} />
      <Button type="submit" variant="default" loading={busy}>
        Save
      </Button>
      <Button variant="subtle" onClick={leave}>
        Cancel
      </Button>
    </form>
  );
}
