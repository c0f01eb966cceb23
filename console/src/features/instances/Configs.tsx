/** Configurations: what is in which slot, with which kernel it boots. */
import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";

import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { Card, Empty } from "../../ui/Page";
import css from "./Disks.module.css";
import { refusalOf, usePower } from "./queries";
import { type Config, configs, type Disk, kernels, removeConfig, SLOTS, volumesOf } from "./diskQueries";
import type { Subject } from "./subject";

const ConfigForm = lazy(() => import("./ConfigForm"));

export function Configs({ subject, disks }: { subject: Subject; disks: Disk[] }) {
  const { instance, denied } = subject;
  const query = useQuery(configs(instance.id));
  const [asked, setAsked] = useState<{ what: "add" } | { what: "edit" | "delete"; config: Config } | null>(null);
  const close = () => setAsked(null);
  const add = (
    <Disabled reason={denied}>
      <Button variant="default" leftSection={<Icon name="plus" size={16} />} onClick={() => setAsked({ what: "add" })}>
        Add a configuration
      </Button>
    </Disabled>
  );
  const all = query.data?.data ?? [];
  return (
    <>
      <Card title="Configurations" aside={all.length > 0 && add}>
        {query.data && all.length === 0 ? (
          <Empty icon="gear" title="No configurations yet" action={add}>
            A configuration says which disks a machine has, and with which kernel it boots.
          </Empty>
        ) : (
          <div className={css.configs}>
            {all.map((config) => (
              <OneConfig key={config.id} config={config} subject={subject} disks={disks} onEdit={() => setAsked({ what: "edit", config })} onDelete={() => setAsked({ what: "delete", config })} />
            ))}
          </div>
        )}
      </Card>
      <Suspense>
        {asked?.what === "add" && <ConfigForm instance={instance} disks={disks} onClose={close} />}
        {asked?.what === "edit" && <ConfigForm instance={instance} disks={disks} config={asked.config} onClose={close} />}
      </Suspense>
      {asked?.what === "delete" && (
        <ConfirmByLabel onClose={close} verb="Delete" label={asked.config.label} onConfirm={() => removeConfig(instance.id, asked.config.id).then(() => query.refetch())} lost={<p>The disks stay. {all.length === 1 && "It is the only one: without it the machine cannot boot."}</p>} />
      )}
    </>
  );
}

function OneConfig({ config, subject, disks, onEdit, onDelete }: { config: Config; subject: Subject; disks: Disk[]; onEdit: () => void; onDelete: () => void }) {
  const { instance, denied, held } = subject;
  const power = usePower();
  const known = useQuery(kernels).data?.data;
  const volumes = useQuery(volumesOf(instance.id)).data?.data ?? [];
  const order = instance.status === "offline" ? "boot" : "reboot";
  const kernel = known?.find((kernel) => kernel.id === config.kernel)?.label ?? config.kernel;
  const inSlot = (device: Config["devices"]["sda"]) => {
    if (!device) return undefined;
    if (device.disk_id !== null) return disks.find((disk) => disk.id === device.disk_id)?.label ?? `disk ${device.disk_id}`;
    if (device.volume_id !== null) return `${volumes.find((volume) => volume.id === device.volume_id)?.label ?? device.volume_id} (volume)`;
    return undefined;
  };
  const used = SLOTS.filter((slot) => inSlot(config.devices[slot]));
  const shown = SLOTS.slice(0, Math.min(SLOTS.length, Math.max(4, SLOTS.indexOf(used.at(-1) ?? "sda") + 1)));
  return (
    <section aria-label={config.label}>
      <div className={css.head}>
        <div>
          <h3>{config.label}</h3>
          <p>
            {kernel}, root {config.root_device}, {config.run_level === "default" ? "usual run level" : `run level ${config.run_level}`}
            {config.interfaces.length > 0 && `, ${config.interfaces.map((iface, place) => `eth${place} ${iface.purpose === "vlan" ? `VLAN ${iface.label}` : "public"}`).join(", ")}`}
          </p>
          {config.comments && <p>{config.comments}</p>}
        </div>
        <div className={css.buttons}>
          <Disabled reason={held ?? refusalOf(instance, order, false)}>
            <Button
              size="xs"
              variant="default"
              leftSection={<Icon name="power" size={14} />}
              onClick={() => power.mutate({ instance, order, config: config.id }, { onError: (error) => notifications.show({ title: `Boot ${config.label}`, message: error.message, color: "red.8" }) })}
            >
              Boot this
            </Button>
          </Disabled>
          <Disabled reason={denied}>
            <Button size="xs" variant="default" aria-label={`Edit ${config.label}`} onClick={onEdit}>
              Edit…
            </Button>
          </Disabled>
          <Disabled reason={denied}>
            <Button size="xs" variant="default" aria-label={`Delete ${config.label}`} onClick={onDelete}>
              Delete…
            </Button>
          </Disabled>
        </div>
      </div>
      <ul className={css.slots} aria-label={`Slots of ${config.label}`}>
        {shown.map((slot) => (
          <li key={slot} className={css.slot} data-empty={inSlot(config.devices[slot]) ? undefined : true}>
            <code>{slot}</code>
            <span>{inSlot(config.devices[slot]) ?? "empty"}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
