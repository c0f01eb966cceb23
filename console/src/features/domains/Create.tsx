import { SegmentedControl, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { Fields, FormPage, useSending } from "../../ui/form";
import { notify } from "../../ui/notify";
import { Card } from "../../ui/Page";
import { create } from "./queries";

const KINDS = [
  { value: "master", label: "Primary" },
  { value: "slave", label: "Secondary" },
];

export default function Create() {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const form = useForm({ initialValues: { domain: "", type: "master" as "master" | "slave", soa_email: "", master_ips: [] as string[], tags: [] as string[] } });
  const primary = form.values.type === "master";
  const sending = useSending(
    form,
    ({ soa_email, master_ips, ...rest }) => create({ ...rest, ...(rest.type === "master" ? { soa_email } : { master_ips }) }),
    async (made) => {
      notify(`${made.domain} was made`);
      await cache.invalidateQueries({ queryKey: ["domains"] });
      await navigate({ to: "/domains/$id", params: { id: made.id } });
    },
  );
  return (
    <FormPage title="Create a domain" back={{ to: "/domains", label: "Domains" }} sending={sending} submit="Create domain">
      <Card title="Domain" aside={<SegmentedControl size="xs" aria-label="Kind of domain" data={KINDS} {...form.getInputProps("type")} />}>
        <Fields>
          <TextInput label="Name" placeholder="example.com" autoComplete="off" {...form.getInputProps("domain")} />
          {primary ? (
            <TextInput label="Mail address of its contact" description="It is in the SOA record, for everyone to see" placeholder="hostmaster@example.com" type="email" {...form.getInputProps("soa_email")} />
          ) : (
            <TagsInput label="Addresses of its primary name servers" description="The zone is fetched from them" placeholder="Enter after each" {...form.getInputProps("master_ips")} error={Object.entries(form.errors).find(([key]) => key.startsWith("master_ips"))?.[1]} />
          )}
          <TagsInput label="Tags" placeholder="Enter after each" {...form.getInputProps("tags")} />
        </Fields>
      </Card>
    </FormPage>
  );
}
