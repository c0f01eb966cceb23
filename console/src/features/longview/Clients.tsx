import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { Ago } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { useRowDialog } from "../../ui/ListPage";
import { Empty, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { Install } from "./Install";
import { PlanCard } from "./PlanCard";
import { type Client, clients, create, remove, rename } from "./queries";

const route = getRouteApi("/longview");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/longview/clients --json \'{"label": "web-1"}\'';
type Dialog = "install" | "rename" | "delete";

export default function Clients() {
  const search = route.useSearch();
  const query = useQuery(clients(search));
  const permissions = usePermissions();
  const [adding, setAdding] = useState(false);
  const { show, rowOf, close, done } = useRowDialog<Client, Dialog>("longview");
  const actions = useMemo(() => (client: Client) => <Actions client={client} onOpen={(dialog) => show(dialog, client)} />, []);
  const [installed, renamed, toRemove] = [rowOf("install"), rowOf("rename"), rowOf("delete")];
  const add = (
    <Disabled reason={permissions.create("add_longview")}>
      <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setAdding(true)}>
        Add a client
      </Button>
    </Disabled>
  );
  return (
    <Page title="Longview" lead={query.data && count(query.data.results, "client")} actions={add}>
      <Table
        name="clients"
        columns={COLUMNS}
        query={query}
        rowKey={(client) => client.id}
        rowLabel={(client) => client.label}
        search={search}
        find="Find by name"
        actions={actions}
        empty={
          <Empty icon="pulse" title="No clients yet" command={CURL} action={add}>
            A client is an agent in one of your machines, here or elsewhere, that reports what the machine does from inside.
          </Empty>
        }
      />
      <div style={{ marginTop: "var(--space-4)" }}>
        <PlanCard clients={query.data?.results ?? 0} />
      </div>
      {adding && (
        <NameDialog
          title="Add a client"
          lead="It is given a key, and a command that installs the agent."
          send={create}
          onClose={() => setAdding(false)}
          onDone={async (client) => {
            setAdding(false);
            await done(`${client.label} was added`);
            show("install", client);
          }}
        />
      )}
      {installed && <Install client={installed} onClose={close} />}
      {renamed && <NameDialog title={`Rename ${renamed.label}`} label={renamed.label} send={(label) => rename(renamed.id, label)} onClose={close} onDone={(client) => done(`It is called ${client.label} now`)} />}
      {toRemove && (
        <ConfirmByLabel
          onClose={close}
          verb="Delete"
          label={toRemove.label}
          onConfirm={() => remove(toRemove.id).then(() => done(`${toRemove.label} was deleted`))}
          lost={<p>Its key ends, and what it has reported is gone. The agent stays in the machine until you remove it there.</p>}
        />
      )}
    </Page>
  );
}

function Actions({ client, onOpen }: { client: Client; onOpen: (dialog: Dialog) => void }) {
  const reason = usePermissions().change("longview", client.id);
  return (
    <RowMenu
      label={client.label}
      actions={[
        { label: "Install…", icon: "download", onClick: () => onOpen("install") },
        { label: "Rename…", icon: "pencil", onClick: () => onOpen("rename"), reason },
        { label: "Delete…", icon: "trash", danger: true, onClick: () => onOpen("delete"), reason },
      ]}
    />
  );
}

interface NameProps {
  title: string;
  lead?: string;
  label?: string;
  send: (label: string) => Promise<Client>;
  onClose: () => void;
  onDone: (client: Client) => unknown;
}

function NameDialog({ title, lead, label = "", send, onClose, onDone }: NameProps) {
  const form = useForm({ initialValues: { label } });
  const sending = useSending(form, (values) => send(values.label), onDone);
  return (
    <FormDialog title={title} lead={lead} sending={sending} submit={label ? "Save" : "Add it"} onClose={onClose}>
      <TextInput label="Name" placeholder={label ? undefined : "one is chosen if you leave it empty"} data-autofocus autoComplete="off" {...form.getInputProps("label")} />
    </FormDialog>
  );
}

function watched({ apps }: Client): string {
  const names = [apps.apache && "Apache", apps.nginx && "nginx", apps.mysql && "MySQL"].filter(Boolean);
  return names.join(", ");
}

const COLUMNS: Column<Client>[] = [
  { key: "label", header: "Name", sort: "label", csv: (client) => client.label, cell: (client) => <strong>{client.label}</strong> },
  { key: "apps", header: "Found in it", csv: watched, cell: (client) => watched(client) || <span className="quiet">nothing reported yet</span> },
  { key: "created", header: "Added", csv: (client) => client.created, cell: (client) => <Ago time={client.created} /> },
];
