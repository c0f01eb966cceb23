/** A configuration as a form: slots, kernel, root, run level, helpers, interfaces. */
import { Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import type { Instance, Schemas } from "../../api/client";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import css from "./Disks.module.css";
import { Interfaces, type NetworkInterface, toInterfaces } from "./Interfaces";
import { addConfig, type Config, type Disk, kernels, type Slot, SLOTS, updateConfig, volumesOf } from "./diskQueries";

const HELPERS = {
  distro: "Distribution: gets what it needs to boot here",
  network: "Network: its addresses are written into it",
  modules_dep: "Modules: their list is made anew",
  devtmpfs_automount: "devtmpfs: /dev is mounted by the kernel",
  updatedb_disabled: "updatedb: does not search the disks each day",
} as const;
const RUN_LEVELS = [
  { value: "default", label: "As usual" },
  { value: "single", label: "Single user" },
  { value: "binbash", label: "A root shell only" },
];
const ROOTS = [...SLOTS.map((slot) => `/dev/${slot}`)];

function valuesOf(config?: Config) {
  const devices = Object.fromEntries(SLOTS.map((slot) => [slot, slotValue(config?.devices[slot])])) as Record<Slot, string>;
  return {
    label: config?.label ?? "",
    comments: config?.comments ?? "",
    kernel: config?.kernel ?? "compute/grub2",
    root_device: config?.root_device ?? "/dev/sda",
    run_level: (config?.run_level ?? "default") as string,
    virt_mode: (config?.virt_mode ?? "paravirt") as string,
    memory_limit: config?.memory_limit ?? 0,
    helpers: { ...(config?.helpers ?? { distro: true, network: true, modules_dep: true, devtmpfs_automount: true, updatedb_disabled: true }) },
    interfaces: (config?.interfaces ?? []) as NetworkInterface[],
    devices,
  };
}

const slotValue = (device: Schemas["DeviceView"] | null | undefined) => (device?.disk_id ? `disk:${device.disk_id}` : device?.volume_id ? `volume:${device.volume_id}` : "");

function toBody(values: ReturnType<typeof valuesOf>): Schemas["ConfigCreate"] {
  const { devices, interfaces, run_level, virt_mode, ...rest } = values;
  const filled = Object.fromEntries(
    SLOTS.map((slot) => {
      const [sort, id] = devices[slot].split(":");
      return [slot, id ? (sort === "disk" ? { disk_id: Number(id) } : { volume_id: Number(id) }) : null];
    }),
  );
  return { ...rest, devices: filled, interfaces: toInterfaces(interfaces), run_level, virt_mode } as Schemas["ConfigCreate"];
}

export default function ConfigForm({ instance, disks, config, onClose }: { instance: Instance; disks: Disk[]; config?: Config; onClose: () => void }) {
  const cache = useQueryClient();
  const known = useQuery(kernels).data?.data ?? [];
  const volumes = useQuery(volumesOf(instance.id)).data?.data ?? [];
  const form = useForm({ initialValues: valuesOf(config) });
  const sending = useSending(
    form,
    (values) => (config ? updateConfig(instance.id, config.id, toBody(values) as Schemas["ConfigUpdate"]) : addConfig(instance.id, toBody(values))),
    async () => {
      onClose();
      await cache.invalidateQueries({ queryKey: ["instances", "one", instance.id] });
    },
  );
  const devices = [...disks.map((disk) => ({ value: `disk:${disk.id}`, label: disk.label })), ...volumes.map((volume) => ({ value: `volume:${volume.id}`, label: `${volume.label} (volume)` }))];
  return (
    <FormDialog title={config ? `Edit ${config.label}` : "Add a configuration"} size="lg" sending={sending} submit={config ? "Save" : "Add configuration"} onClose={onClose}>
      <TextInput label="Name" autoComplete="off" {...form.getInputProps("label")} data-autofocus />
      <TextInput label="Notes" autoComplete="off" {...form.getInputProps("comments")} />
      <div className={css.pairs}>
        <Select label="Kernel" searchable allowDeselect={false} data={known.filter((kernel) => !kernel.deprecated || kernel.id === config?.kernel).map((kernel) => ({ value: kernel.id, label: kernel.label }))} {...form.getInputProps("kernel")} />
        <Select label="Root device" data={ROOTS} allowDeselect={false} {...form.getInputProps("root_device")} />
        <Select label="Run level" data={RUN_LEVELS} allowDeselect={false} {...form.getInputProps("run_level")} />
        <Select label="Virtualization" data={[{ value: "paravirt", label: "Paravirtual" }, { value: "fullvirt", label: "Full" }]} allowDeselect={false} {...form.getInputProps("virt_mode")} />
        <NumberInput label="Memory limit in MB" description="0 is all of the plan" min={0} allowDecimal={false} {...form.getInputProps("memory_limit")} />
      </div>
      <fieldset className={css.group}>
        <legend>Slots</legend>
        <div className={css.pairs}>
          {SLOTS.map((slot) => (
            <Select key={slot} label={slot} data={devices} clearable placeholder="empty" {...form.getInputProps(`devices.${slot}`)} value={form.values.devices[slot] || null} onChange={(chosen) => form.setFieldValue(`devices.${slot}`, chosen ?? "")} />
          ))}
        </div>
      </fieldset>
      <Interfaces region={instance.region} interfaces={form.values.interfaces} onChange={(interfaces) => form.setFieldValue("interfaces", interfaces)} errors={form.errors} />
      <fieldset className={css.group}>
        <legend>Helpers</legend>
        {(Object.keys(HELPERS) as (keyof typeof HELPERS)[]).map((name) => (
          <Checkbox key={name} label={HELPERS[name]} {...form.getInputProps(`helpers.${name}`, { type: "checkbox" })} />
        ))}
      </fieldset>
    </FormDialog>
  );
}
