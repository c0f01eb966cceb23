import { Button, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { Fields, useSending } from "../../ui/form";
import { notify } from "../../ui/notify";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { ChooseInstances } from "../instances/Choose";
import { create } from "./queries";
import { START, toBody } from "./rules";
import css from "./Rules.module.css";
import { RulesEditor } from "./RulesEditor";

export default function Create() {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const form = useForm({ initialValues: { label: "", tags: [] as string[], devices: { computes: [] as string[] }, rules: START } });
  const sending = useSending(
    form,
    ({ label, tags, devices, rules }) => create({ label, tags, rules: toBody(rules), devices: { computes: devices.computes.map(Number) } }),
    async (made) => {
      notify(`${made.label} is in force`);
      await cache.invalidateQueries({ queryKey: ["firewalls"] });
      await navigate({ to: "/firewalls/$id", params: { id: made.id } });
    },
  );
  return (
    <Page title="Create a firewall" wide back={{ to: "/firewalls", label: "Firewalls" }}>
      <form className={css.stack} onSubmit={sending.onSubmit} noValidate>
        <Card title="Firewall">
          <Fields beside>
            <TextInput label="Name" placeholder="web" autoComplete="off" {...form.getInputProps("label")} />
            <ChooseInstances label="Instances that it guards" {...form.getInputProps("devices.computes")} />
            <TagsInput label="Tags" placeholder="Enter after each" {...form.getInputProps("tags")} />
          </Fields>
        </Card>
        <RulesEditor form={form} at="rules." />
        {sending.problem !== null && <ErrorMessage error={sending.problem} />}
        <div>
          <Button type="submit" loading={sending.busy}>
            Create firewall
          </Button>
        </div>
      </form>
    </Page>
  );
}
