/** One record; which fields it has depends on its type. */
import { NumberInput, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";

import type { Schemas } from "../../api/client";
import { Fields, useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { createRecord, type DnsRecord, type Domain, updateRecord } from "./queries";

type Type = DnsRecord["type"];
const TYPES: Record<Type, { label: string; target: string; example: string }> = {
  A: { label: "A: IPv4 address", target: "Address", example: "192.0.2.10" },
  AAAA: { label: "AAAA: IPv6 address", target: "Address", example: "2001:db8::10" },
  CNAME: { label: "CNAME: another name", target: "Name it stands for", example: "www.example.net" },
  MX: { label: "MX: mail server", target: "Mail server", example: "mail.example.com" },
  TXT: { label: "TXT: text", target: "Text", example: "v=spf1 mx -all" },
  SRV: { label: "SRV: service", target: "Host", example: "sip.example.com" },
  NS: { label: "NS: name server", target: "Name server", example: "ns1.example.net" },
  CAA: { label: "CAA: who may sign", target: "Authority", example: "letsencrypt.org" },
  PTR: { label: "PTR: reverse name", target: "Name", example: "host.example.com" },
};
const LIFETIMES = [["0", "usual"], ["300", "5 minutes"], ["3600", "1 hour"], ["86400", "1 day"], ["604800", "1 week"]].map(([value, label]) => ({ value: value as string, label: label as string }));

export function RecordDialog({ domain, record, onClose, onDone }: { domain: Domain; record?: DnsRecord; onClose: () => void; onDone: () => unknown }) {
  const form = useForm({
    initialValues: {
      type: record?.type ?? ("A" as Type),
      name: record?.name ?? "",
      target: record?.target ?? "",
      priority: record?.priority ?? 10,
      weight: record?.weight ?? 5,
      port: record?.port ?? 80,
      service: record?.service?.replace(/^_/, "") ?? "",
      protocol: record?.protocol?.replace(/^_/, "") ?? "tcp",
      tag: record?.tag ?? ("issue" as NonNullable<DnsRecord["tag"]>),
      ttl_sec: String(record?.ttl_sec ?? 0),
    },
  });
  const { type } = form.values;
  const sending = useSending(form, (values) => (record ? updateRecord(domain.id, record.id, wantedOf(values)) : createRecord(domain.id, wantedOf(values))), onDone);
  return (
    <FormDialog title={record ? `Change ${record.type} record` : "Add a record"} sending={sending} submit={record ? "Save record" : "Add record"} onClose={onClose}>
      <Select label="Type" allowDeselect={false} disabled={record !== undefined} data={Object.entries(TYPES).map(([value, { label }]) => ({ value, label }))} {...form.getInputProps("type")} />
      {type === "SRV" ? (
        <Fields beside>
          <TextInput label="Service" placeholder="sip" {...form.getInputProps("service")} />
          <TextInput label="Protocol" placeholder="tcp" {...form.getInputProps("protocol")} />
        </Fields>
      ) : (
        <TextInput label="Name" description={`Within ${domain.domain}; empty for the domain itself`} placeholder="www" autoComplete="off" data-autofocus {...form.getInputProps("name")} />
      )}
      {type === "CAA" && <Select label="What" allowDeselect={false} data={[{ value: "issue", label: "May sign" }, { value: "issuewild", label: "May sign wildcards" }, { value: "iodef", label: "Is told of violations" }]} {...form.getInputProps("tag")} />}
      <TextInput label={TYPES[type].target} placeholder={TYPES[type].example} autoComplete="off" {...form.getInputProps("target")} />
      {(type === "MX" || type === "SRV") && <NumberInput label="Priority" description="Lower ones are preferred" {...form.getInputProps("priority")} />}
      {type === "SRV" && (
        <Fields beside>
          <NumberInput label="Weight" {...form.getInputProps("weight")} />
          <NumberInput label="Port" {...form.getInputProps("port")} />
        </Fields>
      )}
      <Select label="Kept by others for" allowDeselect={false} data={LIFETIMES} {...form.getInputProps("ttl_sec")} />
    </FormDialog>
  );
}

function wantedOf(values: { type: Type; name: string; target: string; priority: number; weight: number; port: number; service: string; protocol: string; tag: NonNullable<DnsRecord["tag"]>; ttl_sec: string }): Schemas["RecordCreate"] {
  const { type, name, target, priority, weight, port, service, protocol, tag } = values;
  return {
    type,
    target,
    ttl_sec: Number(values.ttl_sec),
    ...(type === "SRV" ? { service, protocol, priority, weight, port } : { name }),
    ...(type === "MX" ? { priority } : {}),
    ...(type === "CAA" ? { tag } : {}),
  };
}
