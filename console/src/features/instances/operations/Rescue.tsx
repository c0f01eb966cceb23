import { Select } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "../../../api/client";
import { useSending } from "../../../ui/form";
import { FormDialog } from "../../../ui/FormDialog";
import { rescue } from "../operationQueries";
import css from "../Settings.module.css";
import { disks, SLOTS, volumesOf } from "../diskQueries";
import { type DialogProps, useBegun } from "./done";

/** The last slot is the rescue system's own. */
const OFFERED = SLOTS.slice(0, 7);

export default function Rescue({ instance, onClose }: DialogProps) {
  const diskList = useQuery(disks(instance.id)).data?.data ?? [];
  const volumes = useQuery(volumesOf(instance.id)).data?.data ?? [];
  const form = useForm({ initialValues: { devices: null as Record<string, string> | null } });
  // Until something is chosen, the disks are in the slots in their order.
  const chosen = form.values.devices ?? Object.fromEntries(diskList.slice(0, OFFERED.length).map((disk, place) => [OFFERED[place] ?? "", `disk:${disk.id}`]));
  const sending = useSending(form, () => rescue(instance.id, toDevices(chosen)), useBegun(onClose, `${instance.label} boots into the rescue system`));
  const options = [...diskList.map((disk) => ({ value: `disk:${disk.id}`, label: disk.label })), ...volumes.map((volume) => ({ value: `volume:${volume.id}`, label: `${volume.label} (volume)` }))];
  return (
    <FormDialog title={`Rescue ${instance.label}`} size="lg" sending={sending} submit={instance.status === "offline" ? "Boot into rescue" : "Reboot into rescue"} onClose={onClose}>
      <p>{instance.status === "offline" ? "It boots" : "It is rebooted"} into a small system with these disks beside it. The next usual boot is from its configuration again.</p>
      <div className={css.pairs}>
        {OFFERED.map((slot) => (
          <Select key={slot} label={slot} data={options} value={chosen[slot] ?? null} clearable placeholder="empty" onChange={(device) => form.setFieldValue("devices", { ...chosen, [slot]: device ?? "" })} error={form.errors[`devices.${slot}`]} />
        ))}
      </div>
    </FormDialog>
  );
}

function toDevices(chosen: Record<string, string>): NonNullable<Schemas["Rescue"]["devices"]> {
  const filled = Object.entries(chosen).flatMap(([slot, device]) => {
    const [sort, id] = device.split(":");
    return id ? [[slot, sort === "disk" ? { disk_id: Number(id) } : { volume_id: Number(id) }]] : [];
  });
  return Object.fromEntries(filled) as NonNullable<Schemas["Rescue"]["devices"]>;
}
