import { useForm } from "@mantine/form";

import { useSending } from "../../../ui/form";
import { FormDialog } from "../../../ui/FormDialog";
import { RootPassword } from "../Deploy";
import { resetPassword } from "../operationQueries";
import { type DialogProps, useBegun } from "./done";

export default function Password({ instance, onClose }: DialogProps) {
  const form = useForm({ initialValues: { root_pass: "" } });
  const sending = useSending(form, ({ root_pass }) => resetPassword(instance.id, root_pass), useBegun(onClose, "The root password is being set"));
  return (
    <FormDialog title={`Root password of ${instance.label}`} sending={sending} submit="Set password" onClose={onClose}>
      <RootPassword label="New root password" {...form.getInputProps("root_pass")} data-autofocus />
    </FormDialog>
  );
}
