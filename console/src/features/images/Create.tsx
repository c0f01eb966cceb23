import { Select, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { chosen } from "../../api/errors";
import { Fields, FormPage, useSending } from "../../ui/form";
import { notify } from "../../ui/notify";
import { Card } from "../../ui/Page";
import { size } from "../../ui/words";
import { ChooseInstance } from "../instances/Choose";
import { create, disks } from "./queries";

export default function Create() {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const form = useForm({ initialValues: { compute_id: null as string | null, disk_id: null as string | null, label: "", description: "" } });
  const { compute_id } = form.values;
  const diskQuery = useQuery({ ...disks(Number(compute_id)), enabled: compute_id !== null });
  const sending = useSending(
    form,
    ({ disk_id, label, description }) => create({ disk_id: Number(chosen(disk_id, "disk_id", "Choose a disk")), ...(label ? { label } : {}), ...(description ? { description } : {}) }),
    async (made) => {
      notify(`${made.label} is being made`);
      await cache.invalidateQueries({ queryKey: ["images"] });
      await navigate({ to: "/images", search: {} });
    },
  );
  return (
    <FormPage title="Create an image" lead="From a disk of an instance, as it is now" back={{ to: "/images", label: "Images" }} sending={sending} submit="Create image">
      <Card title="Disk">
        <Fields beside>
          <ChooseInstance
            label="Instance"
            description="That has the disk"
            {...form.getInputProps("compute_id")}
            onChange={(chosen) => form.setValues({ compute_id: chosen, disk_id: null })}
          />
          <Select
            label="Disk"
            description="ext3 or ext4, best while the instance is off"
            placeholder={compute_id ? "Choose a disk" : "Choose an instance first"}
            data={(diskQuery.data?.data ?? []).map((disk) => ({ value: String(disk.id), label: `${disk.label}, ${size(disk.size)}, ${disk.filesystem}` }))}
            {...form.getInputProps("disk_id")}
          />
        </Fields>
      </Card>
      <Card title="Image">
        <Fields>
          <TextInput label="Name" placeholder="That of the disk" autoComplete="off" {...form.getInputProps("label")} />
          <Textarea label="Description" autosize minRows={3} {...form.getInputProps("description")} />
        </Fields>
      </Card>
    </FormPage>
  );
}
