import { Button, Select, Skeleton, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { download } from "../../ui/csv";
import { Disabled } from "../../ui/Disabled";
import { FormCard, useSending } from "../../ui/form";
import { Icon } from "../../ui/Icon";
import { notify, notifyFailed } from "../../ui/notify";
import { Card, Empty, ErrorMessage, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import { Tabs } from "../../ui/Tabs";
import { usePermissions } from "../profile/permissions";
import css from "./Domain.module.css";
import { type DnsRecord, type Domain, domainById, records, removeRecord, update, zoneFile } from "./queries";
import { RecordDialog } from "./RecordDialog";

const BACK = { to: "/domains", label: "Domains" };

export default function Detail() {
  const id = Number(useParams({ strict: false }).id);
  const part = useLocation().pathname.split("/")[3];
  const query = useQuery(domainById(id));
  const domain = query.data;
  if (!domain)
    return (
      <Page title="Domain" back={BACK}>
        {query.isError ? <ErrorMessage error={query.error} again={() => void query.refetch()} /> : <Skeleton height={300} radius={10} />}
      </Page>
    );
  return (
    <Page title={domain.domain} back={BACK} lead={<Status status={domain.status} />}>
      <Tabs
        label="Parts of the domain"
        tabs={[
          { to: `/domains/${id}`, label: "Records", exact: true },
          { to: `/domains/${id}/zone`, label: "Zone file" },
          { to: `/domains/${id}/settings`, label: "Settings" },
        ]}
      />
      {part === "zone" ? <Zone domain={domain} /> : part === "settings" ? <Settings key={id} domain={domain} /> : <Records domain={domain} />}
    </Page>
  );
}

function Records({ domain }: { domain: Domain }) {
  const { id } = domain;
  const cache = useQueryClient();
  const change = usePermissions().change("domain", id);
  const query = useQuery({ ...records(id), enabled: domain.type === "master" });
  const [open, setOpen] = useState<DnsRecord | "new" | null>(null);
  const actions = useMemo(() => {
    const drop = (record: DnsRecord) =>
      removeRecord(id, record.id)
        .then(() => cache.invalidateQueries({ queryKey: ["domains", "one", id] }))
        .then(() => notify(`The ${record.type} record was deleted`))
        .catch((error: unknown) => notifyFailed("Delete", error));
    return (record: DnsRecord) => (
      <RowMenu
        label={nameOf(record)}
        actions={[
          { label: "Change…", icon: "pencil", onClick: () => setOpen(record), reason: change },
          { label: "Delete", icon: "trash", danger: true, onClick: () => void drop(record), reason: change },
        ]}
      />
    );
  }, [id, cache, change]);
  if (domain.type === "slave")
    return (
      <Card>
        <p className="quiet">A secondary domain has the records of its primary name servers: {domain.master_ips.join(", ")}.</p>
      </Card>
    );
  const add = (
    <Disabled reason={change}>
      <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setOpen("new")}>
        Add record
      </Button>
    </Disabled>
  );
  return (
    <div className={css.stack}>
      {(query.data?.data.length ?? 0) > 0 && <div>{add}</div>}
      <Table
        name="records"
        columns={COLUMNS}
        query={query}
        rowKey={(record) => record.id}
        rowLabel={nameOf}
        actions={actions}
        empty={
          <Empty icon="globe" title="No records yet" action={add}>
            A record says what a name of {domain.domain} stands for: an address, a mail server, a text.
          </Empty>
        }
      />
      {open && (
        <RecordDialog
          domain={domain}
          record={open === "new" ? undefined : open}
          onClose={() => setOpen(null)}
          onDone={() => {
            setOpen(null);
            return cache.invalidateQueries({ queryKey: ["domains", "one", id] });
          }}
        />
      )}
    </div>
  );
}

const nameOf = (record: DnsRecord) => `${record.type} ${record.name || "@"}`;
const lifetime = (seconds: number) => (seconds ? `${seconds} s` : "usual");

const COLUMNS: Column<DnsRecord>[] = [
  { key: "name", header: "Name", csv: (record) => record.name, cell: (record) => <strong>{record.name || "@"}</strong> },
  { key: "type", header: "Type", csv: (record) => record.type, cell: (record) => <code>{record.type}</code> },
  { key: "target", header: "Stands for", phone: "wide", csv: (record) => record.target, cell: (record) => <span className="mono">{record.tag ? `${record.tag} ${record.target}` : record.type === "SRV" ? `${record.target}:${record.port}` : record.target || "."}</span> },
  { key: "priority", header: "Priority", align: "right", phone: "hide", csv: (record) => record.priority, cell: (record) => (record.type === "MX" || record.type === "SRV" ? record.priority : "") },
  { key: "ttl", header: "Kept for", align: "right", phone: "hide", csv: (record) => record.ttl_sec, cell: (record) => lifetime(record.ttl_sec) },
];

function Zone({ domain }: { domain: Domain }) {
  const query = useQuery(zoneFile(domain.id));
  if (query.isError) return <ErrorMessage error={query.error} again={() => void query.refetch()} />;
  const text = query.data?.zone_file.join("\n") ?? "";
  return (
    <Card
      title="Zone file"
      aside={
        <Button variant="default" size="xs" leftSection={<Icon name="download" size={14} />} onClick={() => download(`${domain.domain}.zone`, `${text}\n`, "text/plain")}>
          Save as a file
        </Button>
      }
    >
      <pre className={css.zone} tabIndex={0} role="region" aria-label="Zone file">
        {text}
      </pre>
    </Card>
  );
}

function Settings({ domain }: { domain: Domain }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: { domain: domain.domain, status: domain.status, soa_email: domain.soa_email, description: domain.description, axfr_ips: domain.axfr_ips, tags: domain.tags } });
  const sending = useSending(
    form,
    (values) => update(domain.id, values),
    () => {
      notify("Saved");
      return cache.invalidateQueries({ queryKey: ["domains"] });
    },
  );
  return (
    <FormCard title="Settings" sending={sending} submit="Save settings">
      <TextInput label="Name" autoComplete="off" {...form.getInputProps("domain")} />
      <Select label="Status" allowDeselect={false} data={[{ value: "active", label: "Active: it is answered for" }, { value: "disabled", label: "Disabled: it is not" }]} {...form.getInputProps("status")} />
      {domain.type === "master" && <TextInput label="Mail address of its contact" type="email" {...form.getInputProps("soa_email")} />}
      <TextInput label="Description" {...form.getInputProps("description")} />
      <TagsInput label="Addresses that may transfer the zone" placeholder="Enter after each" {...form.getInputProps("axfr_ips")} error={Object.entries(form.errors).find(([key]) => key.startsWith("axfr_ips"))?.[1]} />
      <TagsInput label="Tags" placeholder="Enter after each" {...form.getInputProps("tags")} />
    </FormCard>
  );
}
