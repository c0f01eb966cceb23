/** What is watched, how, and who is told. */
import { MultiSelect, NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { Fields, useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { addService, changeService, contacts, credentials, type Service } from "./queries";

const SORTS = [
  { value: "url", label: "A web page" },
  { value: "tcp", label: "A port that takes connections" },
];

export function ServiceForm({ service, onClose }: { service: Service | null; onClose: () => void }) {
  const cache = useQueryClient();
  const groups = [...new Set((useQuery(contacts).data?.data ?? []).flatMap((contact) => contact.group ?? []))];
  const secrets = useQuery(credentials).data?.data ?? [];
  const form = useForm({
    initialValues: {
      label: service?.label ?? "",
      service_type: service?.service_type ?? ("url" as Service["service_type"]),
      address: service?.address ?? "",
      timeout: service?.timeout ?? 10,
      body: service?.body ?? "",
      consultation_group: service?.consultation_group || null,
      credentials: (service?.credentials ?? []).map(String),
      notes: service?.notes ?? "",
    },
  });
  const sending = useSending(
    form,
    ({ body, notes, consultation_group, credentials, ...rest }) => {
      const wanted = { ...rest, body: body || null, notes: notes || null, consultation_group: consultation_group ?? "", credentials: credentials.map(Number) };
      return service ? changeService(service.id, wanted) : addService(wanted);
    },
    async () => {
      await cache.invalidateQueries({ queryKey: ["managed"] });
      onClose();
    },
  );
  const page = form.values.service_type === "url";
  return (
    <FormDialog title={service ? `Change ${service.label}` : "Watch a service"} size="lg" sending={sending} submit={service ? "Save" : "Watch it"} onClose={onClose}>
      <Fields beside>
        <TextInput data-autofocus label="Name" placeholder="shop" autoComplete="off" {...form.getInputProps("label")} />
        <Select label="What it is" data={SORTS} allowDeselect={false} {...form.getInputProps("service_type")} />
      </Fields>
      <TextInput label="Address" placeholder={page ? "https://shop.example/" : "shop.example:25"} autoComplete="off" {...form.getInputProps("address")} />
      <Fields beside>
        <NumberInput label="Patience" description="Seconds until it counts as down" min={1} max={255} {...form.getInputProps("timeout")} />
        {page && <TextInput label="Must contain" description="A text of the page" {...form.getInputProps("body")} />}
      </Fields>
      <Fields beside>
        <Select label="Who is told" description="A group of contacts" placeholder="Nobody" data={groups} clearable clearButtonProps={{ "aria-label": "Nobody" }} {...form.getInputProps("consultation_group")} />
        <MultiSelect label="Credentials" description="What the support staff may use" data={secrets.map((secret) => ({ value: String(secret.id), label: secret.label }))} {...form.getInputProps("credentials")} />
      </Fields>
      <Textarea label="Notes" description="What the support staff should know" autosize minRows={2} {...form.getInputProps("notes")} />
    </FormDialog>
  );
}
