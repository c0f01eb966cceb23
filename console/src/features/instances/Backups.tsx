import { Button, Skeleton, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import type { Instance } from "../../api/client";
import { Ago, Time } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { Card, Empty, ErrorMessage } from "../../ui/Page";
import { PriceChange } from "../../ui/PriceChange";
import { type Column, Table } from "../../ui/Table";
import { size, words } from "../../ui/words";
import { type Backup, backups, cancel, enable, enabling, snapshot } from "./backupQueries";
import css from "./Backups.module.css";
import { cost } from "./queries";
import { Restore } from "./Restore";
import { Schedule } from "./Schedule";
import { type Subject, useSubject } from "./subject";

export default function Backups() {
  const subject = useSubject();
  return subject.instance.backups.enabled ? <Enabled subject={subject} /> : <Offer subject={subject} />;
}

function Offer({ subject: { instance, held } }: { subject: Subject }) {
  const cache = useQueryClient();
  const plan = useQuery(enabling(instance.id));
  const paid = useQuery(cost(instance.id));
  const [busy, setBusy] = useState(false);
  async function turnOn(): Promise<void> {
    setBusy(true);
    try {
      await enable(instance.id);
      await cache.invalidateQueries({ queryKey: ["instances", "one", instance.id] });
    } catch (error) {
      notifications.show({ title: "Backups", message: error instanceof Error ? error.message : String(error), color: "red.8" });
    } finally {
      setBusy(false);
    }
  }
  return (
    <Card title="No backups">
      <div className={css.offer}>
        <p>With backups on, the disks are saved every day, without stopping the machine. The last day, the last week and the one before can be brought back, and there is a place for one snapshot of your own.</p>
        <PriceChange price={plan.data?.price} before={paid.data} stale={plan.isFetching} />
        {plan.isError && <ErrorMessage error={plan.error} />}
        <Disabled reason={held}>
          <Button onClick={() => void turnOn()} loading={busy}>
            Turn backups on
          </Button>
        </Disabled>
      </div>
    </Card>
  );
}

function Enabled({ subject }: { subject: Subject }) {
  const { instance, held, denied } = subject;
  const query = useQuery(backups(instance.id));
  const cache = useQueryClient();
  const [asked, setAsked] = useState<{ what: "snapshot" | "cancel" } | { what: "restore"; backup: Backup } | null>(null);
  const close = () => setAsked(null);
  const columns = useMemo(() => columnsWith(), []);
  const actions = useMemo(() => (backup: Backup) => <Actions backup={backup} instance={instance} held={held} onRestore={() => setAsked({ what: "restore", backup })} />, [instance, held]);
  if (query.isError) return <ErrorMessage error={query.error} again={() => void query.refetch()} />;
  if (!query.data) return <Skeleton height={220} radius={10} />;
  const { automatic, snapshot: slot } = query.data;
  const taken = slot.in_progress ?? slot.current;
  const page = { data: { data: automatic, pages: 1, results: automatic.length }, isPending: false, isError: false, error: null, refetch: query.refetch };
  return (
    <div className={css.stack}>
      <Schedule instance={instance} denied={denied} />
      <Table
        name="automatic backups"
        columns={columns}
        query={page}
        rowKey={(backup) => backup.id}
        rowLabel={(backup) => `the backup of ${backup.created}`}
        filters={<h2 className={css.title}>Made by themselves</h2>}
        actions={actions}
        empty={
          <Empty icon="clock" title="No automatic backup yet">
            The first one is made in the next window of its day.
          </Empty>
        }
      />
      <Card title="Snapshot">
        <div className={css.slot}>
          {taken ? (
            <p>
              <strong>{taken.label}</strong>
              <span className="quiet">
                {slot.in_progress ? words(slot.in_progress.status) : <Time time={taken.created} />}
                {taken.disks.length > 0 && `, ${size(taken.disks.reduce((sum, disk) => sum + disk.size, 0))} on ${taken.disks.length} disks`}
              </span>
            </p>
          ) : (
            <p className="quiet">There is a place for one snapshot, made when you say so.</p>
          )}
          <div className={css.actions}>
            {slot.current && <Actions backup={slot.current} instance={instance} held={held} onRestore={() => slot.current && setAsked({ what: "restore", backup: slot.current })} />}
            <Disabled reason={held}>
              <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setAsked({ what: "snapshot" })}>
                Take a snapshot
              </Button>
            </Disabled>
          </div>
        </div>
      </Card>
      <Card>
        <div className={css.cancel}>
          <p>Turning backups off deletes all of them at once.</p>
          <Disabled reason={held}>
            <Button variant="default" onClick={() => setAsked({ what: "cancel" })}>
              Turn backups off…
            </Button>
          </Disabled>
        </div>
      </Card>
      {asked?.what === "snapshot" && <Snapshot instance={instance} current={slot.current} onClose={close} />}
      {asked?.what === "restore" && <Restore instance={instance} backup={asked.backup} onClose={close} />}
      {asked?.what === "cancel" && (
        <ConfirmByLabel
          onClose={close}
          verb="Cancel backups of"
          label={instance.label}
          onConfirm={async () => {
            await cancel(instance.id);
            await cache.invalidateQueries({ queryKey: ["instances", "one", instance.id] });
          }}
          lost={<p>{automatic.length + (slot.current ? 1 : 0)} backups of this instance are deleted now and cannot be brought back.</p>}
        />
      )}
    </div>
  );
}

const contents = (backup: Backup) => `${size(backup.disks.reduce((sum, disk) => sum + disk.size, 0))} on ${backup.disks.length} disks`;

function columnsWith(): Column<Backup>[] {
  return [
    { key: "created", header: "Backup", csv: (backup) => backup.created, cell: (backup) => <Time time={backup.created} /> },
    { key: "age", header: "Age", cell: (backup) => <Ago time={backup.created} /> },
    { key: "status", header: "State", csv: (backup) => backup.status, cell: (backup) => words(backup.status) },
    { key: "disks", header: "Holds", csv: contents, cell: contents },
  ];
}

function Actions({ backup, instance, held, onRestore }: { backup: Backup; instance: Instance; held: string | undefined; onRestore: () => void }) {
  const missing = backup.available ? undefined : "It is not complete";
  return (
    <span className={css.actions}>
      <Disabled reason={missing}>
        <Button size="xs" variant="subtle" component={Link} to="/instances/new" search={{ from: backup.id, region: backup.region, type: instance.type } as never}>
          New instance
        </Button>
      </Disabled>
      <Disabled reason={held ?? missing}>
        <Button size="xs" variant="default" onClick={onRestore}>
          Restore…
        </Button>
      </Disabled>
    </span>
  );
}

function Snapshot({ instance, current, onClose }: { instance: Instance; current: Backup | null; onClose: () => void }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: { label: "" } });
  const sending = useSending(
    form,
    ({ label }) => snapshot(instance.id, label),
    async () => {
      onClose();
      await cache.invalidateQueries({ queryKey: ["instances", "one", instance.id] });
    },
  );
  return (
    <FormDialog title="Take a snapshot" sending={sending} submit="Take snapshot" onClose={onClose}>
      {current && (
        <p>
          It will replace <strong>{current.label}</strong>: there is a place for one.
        </p>
      )}
      <TextInput label="Name" placeholder="before-upgrade" autoComplete="off" {...form.getInputProps("label")} data-autofocus />
    </FormDialog>
  );
}
