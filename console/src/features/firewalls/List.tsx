import { TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";

import { Ago, Tags, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { ListPage, useRowDialog } from "../../ui/ListPage";
import { notify, notifyFailed } from "../../ui/notify";
import { RowLink } from "../../ui/RowLink";
import { RowMenu } from "../../ui/RowMenu";
import { Status } from "../../ui/Status";
import type { Column } from "../../ui/Table";
import { count } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { type Firewall, firewalls, remove, update } from "./queries";

const route = getRouteApi("/firewalls");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/networking/firewalls --json \'{"label": "web", "rules": {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}}\'';
const TEXT = "A firewall says which traffic reaches your instances and which leaves them. One set of rules guards as many instances as you like.";
type Dialog = "edit" | "delete";

export default function List() {
  const search = route.useSearch();
  const permissions = usePermissions();
  const { show, rowOf, close, done } = useRowDialog<Firewall, Dialog>("firewalls");
  const actions = useMemo(() => (firewall: Firewall) => <Actions firewall={firewall} onOpen={(dialog) => show(dialog, firewall)} />, []);
  const edited = rowOf("edit");
  const toRemove = rowOf("delete");
  return (
    <ListPage
      title="Firewalls"
      noun="firewall"
      make={{ to: "/firewalls/new", label: "Create firewall", held: permissions.create("add_firewalls") }}
      nothing={{ icon: "shield", text: TEXT, command: CURL }}
      columns={COLUMNS}
      query={useQuery(firewalls(search))}
      rowLabel={(firewall) => firewall.label}
      search={search}
      actions={actions}
    >
      {edited && <EditDialog firewall={edited} onClose={close} onDone={() => done(`${edited.label} was changed`)} />}
      {toRemove && (
        <ConfirmByLabel
          onClose={close}
          verb="Delete"
          label={toRemove.label}
          onConfirm={() => remove(toRemove.id).then(() => done(`${toRemove.label} was deleted`))}
          lost={<p>Its rules are gone, and all traffic reaches the instances that it guards.</p>}
        />
      )}
    </ListPage>
  );
}

function useSwitch() {
  const cache = useQueryClient();
  return (firewall: Firewall) => {
    const status = firewall.status === "enabled" ? "disabled" : "enabled";
    update(firewall.id, { status })
      .then(() => notify(`${firewall.label} is ${status}`))
      .then(() => cache.invalidateQueries({ queryKey: ["firewalls"] }))
      .catch((error: unknown) => notifyFailed(firewall.label, error));
  };
}

function Actions({ firewall, onOpen }: { firewall: Firewall; onOpen: (dialog: "edit" | "delete") => void }) {
  const change = usePermissions().change("firewall", firewall.id);
  const turn = useSwitch();
  return (
    <RowMenu
      label={firewall.label}
      actions={[
        { label: firewall.status === "enabled" ? "Disable" : "Enable", icon: "power", onClick: () => turn(firewall), reason: change },
        { label: "Rename and tag…", icon: "pencil", onClick: () => onOpen("edit"), reason: change },
        { label: "Delete…", icon: "trash", danger: true, onClick: () => onOpen("delete"), reason: change },
      ]}
    />
  );
}

function EditDialog({ firewall, onClose, onDone }: { firewall: Firewall; onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { label: firewall.label, tags: firewall.tags } });
  const sending = useSending(form, (values) => update(firewall.id, values), onDone);
  return (
    <FormDialog title={`Change ${firewall.label}`} sending={sending} submit="Save" onClose={onClose}>
      <TextInput label="Name" data-autofocus autoComplete="off" {...form.getInputProps("label")} />
      <TagsInput label="Tags" placeholder="Enter after each" {...form.getInputProps("tags")} />
    </FormDialog>
  );
}

const policy = (value: string) => (value === "DROP" ? "drop the rest" : "accept the rest");
const rulesOf = (firewall: Firewall, direction: "inbound" | "outbound") => (
  <TwoLines under={policy(firewall.rules[`${direction}_policy`])}>{count(firewall.rules[direction].length, "rule")}</TwoLines>
);

const COLUMNS: Column<Firewall>[] = [
  {
    key: "label",
    header: "Name",
    sort: "label",
    csv: (firewall) => firewall.label,
    cell: (firewall) => (
      <TwoLines under={<Tags tags={firewall.tags} />}>
        <RowLink to={`/firewalls/${firewall.id}`}>{firewall.label}</RowLink>
      </TwoLines>
    ),
  },
  { key: "status", header: "Status", csv: (firewall) => firewall.status, cell: (firewall) => <Status status={firewall.status} /> },
  { key: "inbound", header: "Inbound", csv: (firewall) => firewall.rules.inbound.length, cell: (firewall) => rulesOf(firewall, "inbound") },
  { key: "outbound", header: "Outbound", csv: (firewall) => firewall.rules.outbound.length, cell: (firewall) => rulesOf(firewall, "outbound") },
  { key: "updated", header: "Changed", sort: "updated", phone: "hide", csv: (firewall) => firewall.updated, cell: (firewall) => <Ago time={firewall.updated} /> },
];
