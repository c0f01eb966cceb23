import { Button, Skeleton } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useParams } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";

import { Ago } from "../../ui/Cell";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { notify, notifyFailed } from "../../ui/notify";
import { Empty, ErrorMessage, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { RowMenu } from "../../ui/RowMenu";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import { Tabs } from "../../ui/Tabs";
import { ChooseInstance } from "../instances/Choose";
import { usePermissions } from "../profile/permissions";
import { addDevice, type Device, devices, type Firewall, firewallById, removeDevice, update, updateRules } from "./queries";
import { toBody, toEdited } from "./rules";
import css from "./Rules.module.css";
import { RulesEditor } from "./RulesEditor";

const BACK = { to: "/firewalls", label: "Firewalls" };

export default function Detail() {
  const id = Number(useParams({ strict: false }).id);
  const cache = useQueryClient();
  const change = usePermissions().change("firewall", id);
  const query = useQuery(firewallById(id));
  const showsDevices = useLocation().pathname.endsWith("/devices");
  const firewall = query.data;
  if (!firewall)
    return (
      <Page title="Firewall" back={BACK} wide>
        {query.isError ? <ErrorMessage error={query.error} again={() => void query.refetch()} /> : <Skeleton height={300} radius={10} />}
      </Page>
    );
  const status = firewall.status === "enabled" ? "disabled" : "enabled";
  const turn = () =>
    update(id, { status })
      .then(() => cache.invalidateQueries({ queryKey: ["firewalls"] }))
      .then(() => notify(`${firewall.label} is ${status}`))
      .catch((error: unknown) => notifyFailed(firewall.label, error));
  return (
    <Page
      title={firewall.label}
      back={BACK}
      wide
      lead={<Status status={firewall.status} />}
      actions={
        <Disabled reason={change}>
          <Button variant="default" leftSection={<Icon name="power" size={16} />} onClick={() => void turn()}>
            {firewall.status === "enabled" ? "Disable" : "Enable"}
          </Button>
        </Disabled>
      }
    >
      <Tabs
        label="Parts of the firewall"
        tabs={[
          { to: `/firewalls/${id}`, label: "Rules", exact: true },
          { to: `/firewalls/${id}/devices`, label: "Instances" },
        ]}
      />
      {showsDevices ? <Devices id={id} label={firewall.label} /> : <RulesForm firewall={firewall} change={change} />}
    </Page>
  );
}

function RulesForm({ firewall, change }: { firewall: Firewall; change: string | undefined }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: toEdited(firewall.rules) });
  const dirty = form.isDirty();
  const set = (rules: Firewall["rules"]) => {
    form.setInitialValues(toEdited(rules));
    form.setValues(toEdited(rules));
  };
  // What somebody else has changed is shown at once, unless it would take away what is being typed here.
  useEffect(() => {
    if (!dirty) set(firewall.rules);
  }, [firewall.updated]);
  const sending = useSending(
    form,
    (values) => updateRules(firewall.id, toBody(values)),
    (rules) => {
      set(rules);
      notify("The rules are in force");
      return cache.invalidateQueries({ queryKey: ["firewalls"] });
    },
  );
  return (
    <form className={css.stack} onSubmit={sending.onSubmit} noValidate>
      <RulesEditor form={form} readOnly={change !== undefined} />
      {sending.problem !== null && <ErrorMessage error={sending.problem} />}
      <div className={css.foot}>
        <Disabled reason={change ?? (dirty ? undefined : "Nothing has been changed")}>
          <Button type="submit" loading={sending.busy}>
            Save rules
          </Button>
        </Disabled>
        {dirty && (
          <Button variant="default" onClick={() => form.reset()}>
            Discard changes
          </Button>
        )}
        <span className="quiet">The first rule that matches decides.</span>
      </div>
    </form>
  );
}

function Devices({ id, label }: { id: number; label: string }) {
  const cache = useQueryClient();
  const change = usePermissions().change("firewall", id);
  const query = useQuery(devices(id));
  const [adding, setAdding] = useState(false);
  const actions = useMemo(() => {
    const drop = (device: Device) =>
      removeDevice(id, device.id)
        .then(() => cache.invalidateQueries({ queryKey: ["firewalls"] }))
        .then(() => notify(`${device.entity.label} is no longer guarded`))
        .catch((error: unknown) => notifyFailed("Remove", error));
    return (device: Device) => <RowMenu label={device.entity.label ?? String(device.entity.id)} actions={[{ label: "No longer guard it", icon: "cross", onClick: () => void drop(device), reason: change }]} />;
  }, [id, cache, change]);
  const add = (
    <Disabled reason={change}>
      <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setAdding(true)}>
        Guard an instance
      </Button>
    </Disabled>
  );
  return (
    <div className={css.stack}>
      <div>{(query.data?.data.length ?? 0) > 0 && add}</div>
      <Table
        name="guarded instances"
        columns={COLUMNS}
        query={query}
        rowKey={(device) => device.id}
        rowLabel={(device) => device.entity.label ?? ""}
        actions={actions}
        empty={
          <Empty icon="server" title="It guards no instance yet" action={add}>
            Its rules are in force for the instances that are added here.
          </Empty>
        }
      />
      {adding && (
        <AddDialog
          id={id}
          label={label}
          onClose={() => setAdding(false)}
          onDone={() => {
            setAdding(false);
            return cache.invalidateQueries({ queryKey: ["firewalls"] });
          }}
        />
      )}
    </div>
  );
}

function AddDialog({ id, label, onClose, onDone }: { id: number; label: string; onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { id: null as string | null } });
  const sending = useSending(form, (values) => addDevice(id, Number(values.id)), onDone);
  return (
    <FormDialog title="Guard an instance" lead={`The rules of ${label} are in force for it at once.`} sending={sending} submit="Guard it" onClose={onClose}>
      <ChooseInstance label="Instance" data-autofocus {...form.getInputProps("id")} />
    </FormDialog>
  );
}

const COLUMNS: Column<Device>[] = [
  {
    key: "label",
    header: "Instance",
    csv: (device) => device.entity.label,
    cell: (device) => (
      <RowLink to={`/instances/${device.entity.id}`}>{device.entity.label}</RowLink>
    ),
  },
  { key: "created", header: "Guarded since", csv: (device) => device.created, cell: (device) => <Ago time={device.created} /> },
];
