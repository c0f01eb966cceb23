import { Select, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { Fields, FormPage, useSending } from "../../ui/form";
import { Card } from "../../ui/Page";
import { instances } from "../instances/queries";
import { Files } from "./Files";
import { attach, open } from "./queries";

export default function Create() {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const machines = useQuery(instances()).data?.data ?? [];
  const [files, setFiles] = useState<File[]>([]);
  const form = useForm({ initialValues: { summary: "", description: "", compute_id: null as string | null } });
  const sending = useSending(
    form,
    ({ compute_id, ...wanted }) => open({ ...wanted, ...(compute_id ? { compute_id: Number(compute_id) } : {}) }),
    async (ticket) => {
      // The ticket is there now: a file that is refused must not open a second one.
      for (const file of files)
        await attach(ticket.id, file).catch((error: Error) => notifications.show({ title: `${file.name} is not attached`, message: error.message, color: "red.8", autoClose: false }));
      await cache.invalidateQueries({ queryKey: ["tickets"] });
      await navigate({ to: "/tickets/$id", params: { id: ticket.id } });
    },
  );
  return (
    <FormPage title="Open a ticket" back={{ to: "/tickets", label: "Tickets" }} sending={sending} submit="Open ticket">
      <Card>
        <Fields>
          <TextInput label="What it is about" description="One line, at most 64 letters" autoComplete="off" {...form.getInputProps("summary")} />
          <Select label="Instance" description="If it is about one" placeholder="None" data={machines.map((instance) => ({ value: String(instance.id), label: instance.label }))} searchable clearable clearButtonProps={{ "aria-label": "No instance" }} {...form.getInputProps("compute_id")} />
          <Textarea label="What the matter is" description="What you did, what you expected, and what happened instead" autosize minRows={6} {...form.getInputProps("description")} />
          <Files files={files} onChange={setFiles} />
        </Fields>
      </Card>
    </FormPage>
  );
}
