import { Button, Skeleton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";

import type { Event, Instance, Schemas } from "../../api/client";
import { Refused } from "../../api/errors";
import { useProgress } from "../../live/progress";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Icon } from "../../ui/Icon";
import { useNow } from "../../ui/now";
import { Card, Page, Trouble } from "../../ui/Page";
import { Status } from "../../ui/Status";
import { ago, money, perHour, size, words } from "../../ui/words";
import css from "./Detail.module.css";
import { Power } from "./Power";
import { ACCEPTS, cost, instance, remove, stats, usePower } from "./queries";

const Series = lazy(() => import("../../ui/Series"));
const route = getRouteApi("/instances/$id");

export default function Detail() {
  const { id } = route.useParams();
  const navigate = useNavigate();
  const query = useQuery(instance(id));
  const event = useProgress("compute", id);
  const power = usePower();
  const [doomed, setDoomed] = useState<Instance | null>(null);
  const back = { to: "/instances", label: "Instances" };
  if (query.isError)
    return (
      <Page title="Instance" back={back}>
        <Trouble error={query.error} again={() => void query.refetch()} />
      </Page>
    );
  const one = query.data;
  if (!one)
    return (
      <Page title="Instance" back={back}>
        <Skeleton height={160} radius={10} />
      </Page>
    );
  const order = one.status === "offline" ? "boot" : "reboot";
  const may = !event && ACCEPTS[order].includes(one.status);
  return (
    <Page
      title={one.label}
      back={back}
      lead={<Status status={one.status} event={event} wide={event !== undefined} />}
      actions={
        <>
          <Button
            variant="default"
            disabled={!may}
            leftSection={<Icon name={order === "boot" ? "power" : "reboot"} size={16} />}
            onClick={() => power.mutate({ one, order }, { onError: (error) => notifications.show({ title: words(order), message: error.message, color: "red.8" }) })}
          >
            {words(order)}
          </Button>
          <Power one={one} onRemove={setDoomed} />
        </>
      }
    >
      <div className={css.grid}>
        <div className={css.side}>
          <Facts one={one} />
          <Cost id={id} />
        </div>
        <div className={css.main}>
          <Graphs one={one} />
          <History id={id} />
        </div>
      </div>
      {doomed && (
        <ConfirmByLabel
          opened
          onClose={() => setDoomed(null)}
          verb="Delete"
          label={one.label}
          onConfirm={async () => {
            await remove(one.id);
            await navigate({ to: "/instances", search: {} });
          }}
          lost={<p>Its disks, backups, configurations and addresses are given up for good.</p>}
        />
      )}
    </Page>
  );
}

function Facts({ one }: { one: Instance }) {
  const now = useNow();
  const rows: [string, ReactNode][] = [
    ["IPv4", one.ipv4.map((address) => <Copyable key={address} text={address} what="address" />)],
    ["IPv6", one.ipv6 && <Copyable text={one.ipv6.replace(/\/128$/, "")} what="address" />],
    ["Plan", `${one.specs.vcpus} vCPU, ${size(one.specs.memory)}, ${size(one.specs.disk)}`],
    ["Region", one.region],
    ["Image", one.image?.replace("compute/", "") ?? "none"],
    ["Backups", one.backups.enabled ? (one.backups.last_successful ? `last ${ago(one.backups.last_successful, now)}` : "on") : "off"],
    ["Watchdog", one.watchdog_enabled ? "on" : "off"],
    ["Created", ago(one.created, now)],
    ["Id", <Copyable key="id" text={String(one.id)} what="id" />],
  ];
  return (
    <Card title="Machine">
      <dl className={css.facts}>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Cost({ id }: { id: number }) {
  const { data } = useQuery(cost(id));
  if (!data) return <Skeleton height={140} radius={10} />;
  const share = data.forecast ? Math.min(data.month_to_date / data.forecast, 1) : 0;
  return (
    <Card title="This month">
      <div className={`${css.cost} figures`}>
        <strong>{money(data.month_to_date)}</strong>
        <span className="quiet">so far, {money(data.forecast)} by its end</span>
      </div>
      <div className={css.track} role="img" aria-label={`${money(data.month_to_date)} of ${money(data.forecast)}`}>
        <div style={{ width: `${share * 100}%` }} />
      </div>
      <dl className={`${css.facts} figures`}>
        {data.items.map((item) => (
          <div key={item.service}>
            <dt>{words(item.service)}</dt>
            <dd>{perHour(item.hourly)} an hour</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

const percent = (value: number) => `${+value.toFixed(value < 10 ? 1 : 0)} %`;
const bits = (value: number) => (value >= 1e6 ? `${+(value / 1e6).toFixed(1)} Mbit/s` : `${Math.round(value / 1e3)} kbit/s`);

function Graphs({ one }: { one: Instance }) {
  const { data, error, isPending } = useQuery(stats(one.id));
  const seen: Schemas["StatsData"] | undefined = data?.data;
  const cpu = useMemo(() => (seen ? [{ label: "CPU", points: seen.cpu }] : []), [seen]);
  const net = useMemo(() => (seen ? [{ label: "In", points: seen.netv4.in }, { label: "Out", points: seen.netv4.out }] : []), [seen]);
  const limit = useMemo(() => (one.alerts.cpu ? { value: one.alerts.cpu, label: "alert" } : undefined), [one.alerts.cpu]);
  if (error instanceof Refused && error.status === 400)
    return (
      <Card title="Last 24 hours">
        <p className="quiet">{error.message} The first figures come a few minutes after the first boot.</p>
      </Card>
    );
  if (error) return <Trouble error={error} />;
  return (
    <Card title="Last 24 hours" aside={<span className="quiet">averages of 5 minutes</span>}>
      <h3 className={css.graph}>Processor</h3>
      {isPending ? <Skeleton height={180} /> : <Suspense fallback={<Skeleton height={180} />}><Series label="Processor use" lines={cpu} format={percent} limit={limit} /></Suspense>}
      <h3 className={css.graph}>Network</h3>
      {isPending ? <Skeleton height={180} /> : <Suspense fallback={<Skeleton height={180} />}><Series label="Network traffic" lines={net} format={bits} /></Suspense>}
    </Card>
  );
}

function History({ id }: { id: number }) {
  const { data } = useQuery<{ data: Event[] }>({ queryKey: ["events", "recent"], enabled: false });
  const now = useNow();
  const mine = (data?.data ?? []).filter((event) => event.entity?.type === "compute" && event.entity.id === id).slice(0, 8);
  if (mine.length === 0) return null;
  return (
    <Card title="What happened">
      <ol className={css.history}>
        {mine.map((event) => (
          <li key={event.id} data-status={event.status}>
            <span className={css.what}>{words(event.action)}</span>
            <span className="quiet">
              {event.username ?? "system"}, {ago(event.created, now)}
              {event.duration ? `, took ${+event.duration.toFixed(1)} s` : ""}
            </span>
            {event.message && <span className={css.message}>{event.message}</span>}
          </li>
        ))}
      </ol>
    </Card>
  );
}
