import { Button, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { Ago } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { Empty } from "../../ui/Page";
import { type Column, Table } from "../../ui/Table";
import { Frame } from "./Frame";
import { addKey, removeKey, renameKey, type SshKey, sshKeys } from "./queries";

const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/profile/sshkeys --json \'{"label": "laptop", "ssh_key": "ssh-ed25519 AAAA…"}\'';
const short = (key: SshKey) => {
  const [type = "", material = ""] = key.ssh_key.split(" ");
  return `${type} …${material.slice(-12)}`;
};
const COLUMNS: Column<SshKey>[] = [
  { key: "label", header: "Name", csv: (key) => key.label, cell: (key) => <strong>{key.label}</strong> },
  { key: "key", header: "Key", phone: "wide", csv: (key) => key.ssh_key, cell: (key) => <Copyable text={short(key)} what="the end of the key" /> },
  { key: "created", header: "Added", csv: (key) => key.created, cell: (key) => <Ago time={key.created} /> },
];

export default function Keys() {
  const cache = useQueryClient();
  const query = useQuery(sshKeys);
  const [edited, setEdited] = useState<SshKey | "new" | null>(null);
  const [toRemove, setToRemove] = useState<SshKey | null>(null);
  const fresh = () => cache.invalidateQueries({ queryKey: ["profile", "keys"] });
  const actions = useMemo(
    () => (key: SshKey) => (
      <>
        <Button variant="subtle" size="compact-sm" onClick={() => setEdited(key)} aria-label={`Rename ${key.label}`}>
          Rename
        </Button>
        <Button variant="subtle" color="red.8" size="compact-sm" onClick={() => setToRemove(key)} aria-label={`Delete ${key.label}`}>
          Delete
        </Button>
      </>
    ),
    [],
  );
  const add = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setEdited("new")}>
      Add a key
    </Button>
  );
  return (
    <Frame actions={add}>
      <Table
        name="SSH keys"
        columns={COLUMNS}
        query={query}
        rowKey={(key) => key.id}
        rowLabel={(key) => key.label}
        actions={actions}
        empty={
          <Empty icon="key" title="No SSH keys yet" command={CURL} action={add}>
            A key that you keep here can be put into new instances, so that you come in without a password.
          </Empty>
        }
      />
      {edited && <Edit of={edited === "new" ? null : edited} onClose={() => setEdited(null)} onDone={fresh} />}
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Delete"
          label={toRemove.label}
          lost={<p>Instances that have it already keep it.</p>}
          onConfirm={async () => {
            await removeKey(toRemove.id);
            await fresh();
          }}
        />
      )}
    </Frame>
  );
}

function Edit({ of, onClose, onDone }: { of: SshKey | null; onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { label: of?.label ?? "", ssh_key: of?.ssh_key ?? "" } });
  const send = (values: { label: string; ssh_key: string }) => (of ? renameKey(of.id, values.label) : addKey({ ...values, ssh_key: values.ssh_key.trim() }));
  const sending = useSending(form, send, async () => {
    await onDone();
    onClose();
  });
  return (
    <FormDialog title={of ? `Rename ${of.label}` : "Add an SSH key"} submit={of ? "Save" : "Add the key"} sending={sending} onClose={onClose}>
      <TextInput label="Name" placeholder="laptop" data-autofocus {...form.getInputProps("label")} />
      {!of && <Textarea label="Public key" placeholder="ssh-ed25519 AAAA… you@laptop" autosize minRows={3} maxRows={8} spellCheck={false} {...form.getInputProps("ssh_key")} styles={{ input: { fontFamily: "var(--mono)", fontSize: 12 } }} />}
    </FormDialog>
  );
}
