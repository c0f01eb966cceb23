import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { Ago } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { Card, Empty } from "../../ui/Page";
import { editAndRemove, RowMenu } from "../../ui/RowMenu";
import { type Column, Table } from "../../ui/Table";
import { Frame } from "./Frame";
import css from "./Managed.module.css";
import { addCredential, type Credential, credentials, renameCredential, replaceSecrets, revokeCredential, sshKey } from "./queries";

const CURL = 'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4/managed/credentials \\\n  --json \'{"label": "database", "username": "admin", "password": "…"}\'';
const COLUMNS: Column<Credential>[] = [
  { key: "label", header: "Name", csv: (credential) => credential.label, cell: (credential) => <strong>{credential.label}</strong> },
  { key: "secret", header: "Secret", phone: "hide", cell: () => <span className="quiet">kept, and never shown again</span> },
  { key: "last_decrypted", header: "Last looked at", csv: (credential) => credential.last_decrypted, cell: (credential) => (credential.last_decrypted ? <Ago time={credential.last_decrypted} /> : <span className="quiet">never</span>) },
];
type Edited = { sort: "new" } | { sort: "label" | "secrets"; of: Credential };

export default function Credentials() {
  const [edited, setEdited] = useState<Edited | null>(null);
  const add = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setEdited({ sort: "new" })}>
      Add a credential
    </Button>
  );
  return (
    <Frame actions={add}>
      <List onEdit={setEdited} add={add} />
      {edited && <CredentialForm edited={edited} onClose={() => setEdited(null)} />}
    </Frame>
  );
}

function List({ onEdit, add }: { onEdit: (edited: Edited) => void; add: React.ReactNode }) {
  const query = useQuery(credentials);
  const key = useQuery(sshKey).data?.ssh_key;
  const cache = useQueryClient();
  const [toRemove, setToRemove] = useState<Credential | null>(null);
  const actions = useMemo(
    () => (credential: Credential) => (
      <RowMenu
        label={credential.label}
        actions={editAndRemove(
          { "Rename…": () => onEdit({ sort: "label", of: credential }), "Replace the secret…": () => onEdit({ sort: "secrets", of: credential }) },
          { "Revoke…": () => setToRemove(credential) },
        )}
      />
    ),
    [onEdit],
  );
  return (
    <div className={css.stack}>
      <Table
        name="credentials"
        columns={COLUMNS}
        query={query}
        rowKey={(credential) => credential.id}
        rowLabel={(credential) => credential.label}
        actions={actions}
        empty={
          <Empty icon="key" title="No credentials yet" command={CURL} action={add}>
            What the support staff needs to set a failing service right. It is kept encrypted, and nobody is shown it but them.
          </Empty>
        }
      />
      {key && (
        <Card title="The support staff’s SSH key">
          <p className="quiet">Put it on the machines that they may sign in to.</p>
          <Copyable text={key} what="key" />
        </Card>
      )}
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Revoke"
          label={toRemove.label}
          lost={<p>The secret is deleted, and services that name it lose it.</p>}
          onConfirm={async () => {
            await revokeCredential(toRemove.id);
            await cache.invalidateQueries({ queryKey: ["managed"] });
          }}
        />
      )}
    </div>
  );
}

function CredentialForm({ edited, onClose }: { edited: Edited; onClose: () => void }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: { label: edited.sort === "label" ? edited.of.label : "", username: "", password: "" } });
  const sending = useSending(
    form,
    async ({ label, username, password }) => {
      const secrets = { password, ...(username ? { username } : {}) };
      if (edited.sort === "new") await addCredential({ label, ...secrets });
      else if (edited.sort === "label") await renameCredential(edited.of.id, label);
      else await replaceSecrets(edited.of.id, secrets);
    },
    async () => {
      await cache.invalidateQueries({ queryKey: ["managed", "credentials"] });
      onClose();
    },
  );
  const title = edited.sort === "new" ? "Add a credential" : edited.sort === "label" ? `Rename ${edited.of.label}` : `Replace the secret of ${edited.of.label}`;
  return (
    <FormDialog title={title} sending={sending} submit="Save" onClose={onClose}>
      {edited.sort !== "secrets" && <TextInput data-autofocus label="Name" autoComplete="off" {...form.getInputProps("label")} />}
      {edited.sort !== "label" && (
        <>
          <TextInput label="Username" description="Who to sign in as, if anybody" autoComplete="off" {...form.getInputProps("username")} />
          <PasswordInput label="Password" description="Not shown again, to nobody of your account" autoComplete="new-password" visibilityToggleButtonProps={{ "aria-label": "Show the password" }} {...form.getInputProps("password")} />
        </>
      )}
    </FormDialog>
  );
}
