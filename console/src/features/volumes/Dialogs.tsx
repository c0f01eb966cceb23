/** What is asked before a volume is changed. */
import { Checkbox, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";

import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { usePlan } from "../../ui/plan";
import { money } from "../../ui/words";
import { ChooseInstance } from "../instances/Choose";
import { chosenInstance } from "../instances/queries";
import { attach, clone, configs, planClone, planResize, resize, update, type Volume } from "./queries";

interface Props {
  volume: Volume;
  onClose: () => void;
  onDone: () => unknown;
}

export function EditDialog({ volume, onClose, onDone }: Props) {
  const form = useForm({ initialValues: { label: volume.label, tags: volume.tags } });
  const sending = useSending(form, (values) => update(volume.id, values), onDone);
  return (
    <FormDialog title={`Change ${volume.label}`} sending={sending} submit="Save" onClose={onClose}>
      <TextInput label="Name" data-autofocus autoComplete="off" {...form.getInputProps("label")} />
      <TagsInput label="Tags" placeholder="Enter after each" {...form.getInputProps("tags")} />
    </FormDialog>
  );
}

export function AttachDialog({ volume, onClose, onDone }: Props) {
  const form = useForm({ initialValues: { compute_id: null as string | null, config_id: null as string | null, persist_across_boots: true } });
  const sending = useSending(
    form,
    ({ compute_id, config_id, persist_across_boots }) => attach(volume.id, { compute_id: chosenInstance(compute_id), persist_across_boots, ...(config_id ? { config_id: Number(config_id) } : {}) }),
    onDone,
  );
  const { compute_id } = form.values;
  return (
    <FormDialog title={`Attach ${volume.label}`} sending={sending} submit="Attach" onClose={onClose} lead={`To an instance in ${volume.region}, where the volume is.`}>
      <ChooseInstance label="Instance" region={volume.region} data-autofocus {...form.getInputProps("compute_id")} />
      <Configs computeId={compute_id ? Number(compute_id) : null} {...form.getInputProps("config_id")} />
      <Checkbox label="Attach it again at each boot" description="It takes a slot of the configuration. Otherwise it is attached until the next boot only." {...form.getInputProps("persist_across_boots", { type: "checkbox" })} />
    </FormDialog>
  );
}

/** Which configuration of the instance gets the volume; where there is one only, there is nothing to choose. */
export function Configs({ computeId, ...props }: { computeId: number | null; value?: string | null; onChange?: (value: string | null) => void; error?: React.ReactNode }) {
  const { data } = useQuery({ ...configs(computeId ?? 0), enabled: computeId !== null });
  const options = (data?.data ?? []).map((config) => ({ value: String(config.id), label: config.label }));
  if (options.length < 2 && !props.error) return null;
  return <Select label="Configuration" description="Without a choice: the one that was booted last" data={options} clearable {...props} />;
}

export function ResizeDialog({ volume, onClose, onDone }: Props) {
  const form = useForm({ initialValues: { size: volume.size + 10 } });
  const sending = useSending(form, ({ size }) => resize(volume.id, size), onDone);
  const plan = usePlan(`volumes/${volume.id}/resize`, form, (size: number, signal) => planResize(volume.id, size, signal), form.values.size, volume.size + 1);
  return (
    <FormDialog title={`Resize ${volume.label}`} sending={sending} submit="Resize" onClose={onClose} lead={`It has ${volume.size} GB, and can only grow. The file system on it is made larger in the instance.`}>
      <NumberInput label="New size" suffix=" GB" min={0} data-autofocus {...form.getInputProps("size")} error={plan.error("size")} />
      <More price={plan.price} />
    </FormDialog>
  );
}

export function CloneDialog({ volume, onClose, onDone }: Props) {
  const form = useForm({ initialValues: { label: `${volume.label}-copy` } });
  const sending = useSending(form, ({ label }) => clone(volume.id, label), onDone);
  const plan = usePlan(`volumes/${volume.id}/clone`, form, (label: string, signal) => planClone(volume.id, label, signal), form.values.label, `copy-of-${volume.id}`);
  return (
    <FormDialog title={`Clone ${volume.label}`} sending={sending} submit="Clone" onClose={onClose} lead={`A second volume of ${volume.size} GB in ${volume.region}, with all that is on this one.`}>
      <TextInput label="Name of the copy" data-autofocus autoComplete="off" {...form.getInputProps("label")} error={plan.error("label")} />
      <More price={plan.price} />
    </FormDialog>
  );
}

function More({ price }: { price: { monthly: number } | undefined }) {
  return (
    <p className="figures" aria-live="polite">
      {price ? (
        <>
          <strong>{money(price.monthly)}</strong> a month more
        </>
      ) : (
        <span className="quiet">The price comes with a valid choice.</span>
      )}
    </p>
  );
}
