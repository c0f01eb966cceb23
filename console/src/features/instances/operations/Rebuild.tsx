import { Checkbox } from "@mantine/core";
import { useForm } from "@mantine/form";

import { useSending } from "../../../ui/form";
import { FormDialog } from "../../../ui/FormDialog";
import { size } from "../../../ui/words";
import { ImageField, KeysField, PeopleField, Questions, RootPassword, ScriptField, useImagesOf } from "../Deploy";
import { rebuild } from "../operationQueries";
import css from "../Settings.module.css";
import { type DialogProps, useBegun } from "./done";

export default function Rebuild({ instance, onClose }: DialogProps) {
  const form = useForm({
    initialValues: {
      image: instance.image ?? "compute/debian12",
      root_pass: "",
      authorized_keys: [] as string[],
      authorized_users: [] as string[],
      stackscript_id: null as number | null,
      stackscript_data: {} as Record<string, string>,
      booted: true,
    },
  });
  const only = useImagesOf(form.values.stackscript_id);
  const sending = useSending(
    form,
    ({ stackscript_id, stackscript_data, ...rest }) => rebuild(instance.id, stackscript_id === null ? rest : { ...rest, stackscript_id, stackscript_data: stackscript_data as Record<string, never> }),
    useBegun(onClose, `${instance.label} is being rebuilt`),
  );
  return (
    <FormDialog title={`Rebuild ${instance.label}`} size="lg" sending={sending} submit="Rebuild" onClose={onClose} loses confirm={instance.label}>
      <ul className={css.lost}>
        <li>All its disks, up to {size(instance.specs.disk)}, and all its configurations are lost.</li>
        <li>Its addresses, its backups and its price stay.</li>
      </ul>
      <div className={css.pairs}>
        <ImageField {...form.getInputProps("image")} only={only} />
        <RootPassword {...form.getInputProps("root_pass")} />
        <KeysField {...form.getInputProps("authorized_keys")} />
        <PeopleField {...form.getInputProps("authorized_users")} />
        <ScriptField {...form.getInputProps("stackscript_id")} />
        <Questions script={form.values.stackscript_id} answers={form.values.stackscript_data} onChange={(answers) => form.setFieldValue("stackscript_data", answers)} errors={form.errors} />
      </div>
      <Checkbox label="Boot it when it is ready" {...form.getInputProps("booted", { type: "checkbox" })} />
    </FormDialog>
  );
}
