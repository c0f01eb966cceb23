import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";

import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";

export default function KeepView({ onClose, onKeep }: { onClose: () => void; onKeep: (name: string) => Promise<unknown> }) {
  const form = useForm({ initialValues: { name: "" } });
  const sending = useSending(form, ({ name }) => onKeep(name.trim()), onClose);
  return (
    <FormDialog title="Keep this view" sending={sending} submit="Keep view" onClose={onClose} held={form.values.name.trim() === "" && "A view needs a name"}>
      <TextInput label="Name" placeholder="Production in Europe" autoComplete="off" {...form.getInputProps("name")} data-autofocus />
    </FormDialog>
  );
}
