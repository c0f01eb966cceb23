/** Bring a backup back, into this instance or another one of its region. The plan is asked first. */
import { Checkbox, Select } from "@mantine/core";
import { useForm } from "@mantine/form";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";

import type { Instance } from "../../api/client";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { ErrorMessage } from "../../ui/Page";
import { fullTime, size } from "../../ui/words";
import { type Backup, restore, restoring } from "./backupQueries";
import { instances } from "./queries";

export function Restore({ instance, backup, onClose }: { instance: Instance; backup: Backup; onClose: () => void }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: { compute_id: String(instance.id), overwrite: false } });
  const wanted = { compute_id: Number(form.values.compute_id), overwrite: form.values.overwrite };
  const plan = useQuery({ ...restoring(instance.id, backup.id, wanted), placeholderData: keepPreviousData });
  const candidates = useQuery(instances({ region: backup.region })).data?.data ?? [instance];
  const target = candidates.find((candidate) => candidate.id === wanted.compute_id) ?? instance;
  const sending = useSending(
    form,
    () => restore(instance.id, backup.id, wanted),
    async () => {
      onClose();
      await cache.invalidateQueries({ queryKey: ["instances", "one"] });
    },
  );
  return (
    <FormDialog
      title={`Restore the backup of ${fullTime(backup.created)}`}
      sending={sending}
      submit="Restore"
      onClose={onClose}
      loses={wanted.overwrite}
      confirm={wanted.overwrite ? target.label : undefined}
      held={plan.isError && "The server would refuse this"}
    >
      <Select label="Into" description={`Instances in ${backup.region}`} data={candidates.map((candidate) => ({ value: String(candidate.id), label: candidate.label }))} allowDeselect={false} {...form.getInputProps("compute_id")} />
      <Checkbox label="Overwrite" description="Its disks and configurations are deleted first. Without this, those of the backup are put beside them." {...form.getInputProps("overwrite", { type: "checkbox" })} />
      {plan.isError ? (
        <ErrorMessage error={plan.error} />
      ) : (
        <ul>
          {wanted.overwrite && <li>All disks and configurations of {target.label} are lost.</li>}
          {backup.disks.map((disk) => (
            <li key={disk.label}>
              {disk.label} ({disk.filesystem}, {size(disk.size)} of data) is made on {target.label}.
            </li>
          ))}
          <li>It costs nothing more.</li>
        </ul>
      )}
    </FormDialog>
  );
}
