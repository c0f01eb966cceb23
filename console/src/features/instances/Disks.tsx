import { ActionIcon, Button, Menu, Skeleton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import type { Instance } from "../../api/client";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { Card, Empty, ErrorMessage } from "../../ui/Page";
import { type Column, Table } from "../../ui/Table";
import { size, words } from "../../ui/words";
import { Configs } from "./Configs";
import { AddDisk, DiskPassword, RenameDisk, ResizeDisk } from "./DiskForms";
import css from "./Disks.module.css";
import { cloneDisk, type Config, configs, type Disk, disks, removeDisk, usesOf } from "./diskQueries";
import { type Subject, useSubject } from "./subject";

type Asked = { what: "rename" | "resize" | "password" | "delete"; disk: Disk } | { what: "add" };

export default function Disks() {
  const subject = useSubject();
  const { instance, held } = subject;
  const query = useQuery(disks(instance.id));
  const profiles = useQuery(configs(instance.id));
  const [asked, setAsked] = useState<Asked | null>(null);
  const known = useMemo(() => profiles.data?.data ?? [], [profiles.data]);
  const all = query.data?.data ?? [];
  const free = instance.specs.disk - all.reduce((sum, disk) => sum + disk.size, 0);
  const columns = useMemo(() => columnsWith(known), [known]);
  const actions = useMemo(() => (disk: Disk) => <DiskMenu disk={disk} uses={known} subject={subject} free={free} onAsk={setAsked} />, [known, subject.held, instance.status, free]);
  const add = (
    <Disabled reason={held ?? (free < 1 && "The disks take all the space of the plan. Make one smaller, or choose a larger plan.")}>
      <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setAsked({ what: "add" })}>
        Add a disk
      </Button>
    </Disabled>
  );
  const close = () => setAsked(null);
  if (query.isError) return <ErrorMessage error={query.error} again={() => void query.refetch()} />;
  return (
    <div className={css.stack}>
      <Card title="Space of the plan" aside={add}>
        {query.data ? <Space instance={instance} all={all} free={free} /> : <Skeleton height={26} />}
      </Card>
      <Table
        name="disks"
        columns={columns}
        query={query}
        rowKey={(disk) => disk.id}
        rowLabel={(disk) => disk.label}
        filters={<h2 className={css.title}>Disks</h2>}
        actions={actions}
        empty={
          <Empty icon="disk" title="No disks yet" command={`crofter disks create ${instance.id} --label boot --size 20480`}>
            A machine boots from a disk. Make an empty one, or one that is filled from an image.
          </Empty>
        }
      />
      <Configs subject={subject} disks={all} />
      {asked?.what === "add" && <AddDisk instance={instance} free={free} onClose={close} />}
      {asked?.what === "rename" && <RenameDisk instance={instance} disk={asked.disk} onClose={close} />}
      {asked?.what === "resize" && <ResizeDisk instance={instance} disk={asked.disk} free={free} onClose={close} />}
      {asked?.what === "password" && <DiskPassword instance={instance} disk={asked.disk} onClose={close} />}
      {asked?.what === "delete" && (
        <ConfirmByLabel onClose={close} verb="Delete" label={asked.disk.label} onConfirm={() => removeDisk(instance.id, asked.disk.id)} lost={<p>Everything on this disk of {size(asked.disk.size)} is lost. Configurations that use it lose the slot.</p>} />
      )}
    </div>
  );
}

function Space({ instance, all, free }: { instance: Instance; all: Disk[]; free: number }) {
  return (
    <div className={css.space}>
      <div className={css.bar} role="img" aria-label={`${size(instance.specs.disk - free)} of ${size(instance.specs.disk)} are used by ${all.length} disks, ${size(Math.max(0, free))} are free`}>
        {all.map((disk) => (
          <div key={disk.id} className={css.part} data-sort={disk.filesystem} style={{ flex: `${disk.size} 0 0` }} title={`${disk.label}, ${size(disk.size)}`}>
            {disk.size > instance.specs.disk / 8 && disk.label}
          </div>
        ))}
        <div style={{ flex: `${Math.max(0, free)} 0 0` }} />
      </div>
      <p className={`${css.sizes} figures`}>
        <span>
          {size(instance.specs.disk - free)} of {size(instance.specs.disk)} in {all.length} disks
        </span>
        <span className="quiet">{free > 0 ? `${size(free)} free` : "nothing free"}</span>
      </p>
    </div>
  );
}

function columnsWith(known: Config[]): Column<Disk>[] {
  return [
    { key: "label", header: "Disk", csv: (disk) => disk.label, cell: (disk) => <strong>{disk.label}</strong> },
    { key: "size", header: "Size", align: "right", csv: (disk) => disk.size, cell: (disk) => size(disk.size) },
    { key: "filesystem", header: "Filesystem", csv: (disk) => disk.filesystem, cell: (disk) => disk.filesystem },
    { key: "status", header: "State", csv: (disk) => disk.status, cell: (disk) => words(disk.status) },
    {
      key: "uses",
      header: "Used by",
      phone: "wide",
      cell: (disk) => {
        const uses = usesOf(disk, known);
        return uses.length > 0 ? uses.map(({ config, slot }) => `${config.label} as ${slot}`).join(", ") : <span className="quiet">no configuration</span>;
      },
    },
  ];
}

function DiskMenu({ disk, uses, subject, free, onAsk }: { disk: Disk; uses: Config[]; subject: Subject; free: number; onAsk: (asked: Asked) => void }) {
  const { instance, denied, held } = subject;
  const isOn = instance.status !== "offline";
  // Which of several configurations was booted is not told; with one there is no doubt.
  const locked = isOn && uses.length === 1 && usesOf(disk, uses).length > 0 ? `It is booted from ${uses[0]?.label}. Shut it down first.` : undefined;
  const clone = () =>
    cloneDisk(instance.id, disk.id).then(
      () => notifications.show({ message: `${disk.label} is being copied`, color: "croft" }),
      (error: Error) => notifications.show({ title: `Clone ${disk.label}`, message: error.message, color: "red.8" }),
    );
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${disk.label}`}>
          <Icon name="dots" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Disabled reason={denied}>
          <Menu.Item onClick={() => onAsk({ what: "rename", disk })}>Rename…</Menu.Item>
        </Disabled>
        <Disabled reason={held ?? locked}>
          <Menu.Item onClick={() => onAsk({ what: "resize", disk })}>Resize…</Menu.Item>
        </Disabled>
        <Disabled reason={held ?? (disk.size > free && `A copy needs ${size(disk.size)}, and ${size(Math.max(0, free))} are free`)}>
          <Menu.Item onClick={() => void clone()}>Clone</Menu.Item>
        </Disabled>
        <Disabled reason={held ?? (isOn ? "Shut it down first" : disk.filesystem === "swap" && "A swap disk has no password")}>
          <Menu.Item onClick={() => onAsk({ what: "password", disk })}>Reset the password…</Menu.Item>
        </Disabled>
        <Menu.Divider />
        <Disabled reason={held ?? locked}>
          <Menu.Item color="red.8" leftSection={<Icon name="trash" size={16} />} onClick={() => onAsk({ what: "delete", disk })}>
            Delete…
          </Menu.Item>
        </Disabled>
      </Menu.Dropdown>
    </Menu>
  );
}
