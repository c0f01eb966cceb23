import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { ConfirmByLabel } from "../../ui/Confirm";
import { Fields, useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { Empty } from "../../ui/Page";
import { editAndRemove, RowMenu } from "../../ui/RowMenu";
import { type Column, Table } from "../../ui/Table";
import { TwoLines } from "../../ui/Cell";
import { Frame } from "./Frame";
import { addContact, changeContact, type Contact, contacts, removeContact } from "./queries";

const CURL = 'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4/managed/contacts \\\n  --json \'{"name": "On call", "email": "oncall@example.com", "group": "ops"}\'';
const nameOf = (contact: Contact) => contact.name ?? contact.email ?? `contact ${contact.id}`;
const COLUMNS: Column<Contact>[] = [
  { key: "name", header: "Name", csv: nameOf, cell: (contact) => <TwoLines under={contact.email}><strong>{nameOf(contact)}</strong></TwoLines> },
  { key: "group", header: "Group", csv: (contact) => contact.group, cell: (contact) => contact.group ?? <span className="quiet">none: is never told</span> },
  { key: "phone", header: "Phone", csv: (contact) => contact.phone.primary, cell: (contact) => <TwoLines under={contact.phone.secondary}>{contact.phone.primary ?? "–"}</TwoLines> },
];

export default function Contacts() {
  const [edited, setEdited] = useState<Contact | "new" | null>(null);
  const add = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setEdited("new")}>
      Add a contact
    </Button>
  );
  return (
    <Frame actions={add}>
      <List onEdit={setEdited} add={add} />
      {edited && <ContactForm contact={edited === "new" ? null : edited} onClose={() => setEdited(null)} />}
    </Frame>
  );
}

function List({ onEdit, add }: { onEdit: (contact: Contact) => void; add: React.ReactNode }) {
  const query = useQuery(contacts);
  const cache = useQueryClient();
  const [toRemove, setToRemove] = useState<Contact | null>(null);
  const actions = useMemo(() => (contact: Contact) => <RowMenu label={nameOf(contact)} actions={editAndRemove({ "Change…": () => onEdit(contact) }, { "Delete…": () => setToRemove(contact) })} />, [onEdit]);
  return (
    <>
      <Table
        name="contacts"
        columns={COLUMNS}
        query={query}
        rowKey={(contact) => contact.id}
        rowLabel={nameOf}
        actions={actions}
        empty={
          <Empty icon="people" title="No contacts yet" command={CURL} action={add}>
            Whom to write to, and to call, when a service fails. A service names the group that is told.
          </Empty>
        }
      />
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Delete"
          label={nameOf(toRemove)}
          lost={<p>They are not told of outages any more.</p>}
          onConfirm={async () => {
            await removeContact(toRemove.id);
            await cache.invalidateQueries({ queryKey: ["managed", "contacts"] });
          }}
        />
      )}
    </>
  );
}

function ContactForm({ contact, onClose }: { contact: Contact | null; onClose: () => void }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: { name: contact?.name ?? "", email: contact?.email ?? "", group: contact?.group ?? "", phone: { primary: contact?.phone.primary ?? "", secondary: contact?.phone.secondary ?? "" } } });
  const sending = useSending(
    form,
    ({ name, email, group, phone }) => {
      const wanted = { name: name || null, email: email || null, group: group || null, phone: { primary: phone.primary || null, secondary: phone.secondary || null } };
      return contact ? changeContact(contact.id, wanted) : addContact(wanted);
    },
    async () => {
      await cache.invalidateQueries({ queryKey: ["managed", "contacts"] });
      onClose();
    },
  );
  return (
    <FormDialog title={contact ? `Change ${nameOf(contact)}` : "Add a contact"} sending={sending} submit="Save" onClose={onClose}>
      <TextInput data-autofocus label="Name" autoComplete="off" {...form.getInputProps("name")} />
      <TextInput label="E-mail address" type="email" autoComplete="off" {...form.getInputProps("email")} />
      <TextInput label="Group" description="Services name the group that is told" autoComplete="off" {...form.getInputProps("group")} />
      <Fields beside>
        <TextInput label="Phone" autoComplete="off" {...form.getInputProps("phone.primary")} />
        <TextInput label="Second phone" autoComplete="off" {...form.getInputProps("phone.secondary")} />
      </Fields>
    </FormDialog>
  );
}
