import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import type { Instance } from "../../api/client";
import { Refused } from "../../api/errors";
import { Ago, Tags } from "../../ui/Cell";
import { Copyable } from "../../ui/Copyable";
import { useNow } from "../../ui/now";
import { OneOf } from "../../ui/OneOf";
import { Card, ErrorMessage } from "../../ui/Page";
import { money, perHour, size, words } from "../../ui/words";
import { ChartOf, CPU, NET4 } from "./charts";
import css from "./Detail.module.css";
import { cost, happened, monthStats, stats } from "./queries";
import { useSubject } from "./subject";

export default function Overview() {
  const { instance } = useSubject();
  return (
    <div className={css.grid}>
      <div className={css.side}>
        <Facts instance={instance} />
        <Cost id={instance.id} />
      </div>
      <div className={css.main}>
        <Charts instance={instance} />
        <History id={instance.id} />
      </div>
    </div>
  );
}

function Facts({ instance }: { instance: Instance }) {
  const rows: [string, ReactNode][] = [
    ["IPv4", instance.ipv4.map((address) => <Copyable key={address} text={address} what="address" />)],
    ["IPv6", instance.ipv6 && <Copyable text={instance.ipv6.replace(/\/128$/, "")} what="address" />],
    ["Sign in", instance.image && instance.ipv4[0] && <Copyable text={`ssh root@${instance.ipv4[0]}`} what="command" />],
    ["Plan", `${instance.specs.vcpus} vCPU, ${size(instance.specs.memory)}, ${size(instance.specs.disk)}${instance.specs.gpus ? `, ${instance.specs.gpus} GPU` : ""}`],
    ["Region", instance.region],
    ["Image", instance.image?.replace("compute/", "") ?? "none"],
    ["Tags", instance.tags.length > 0 && <Tags tags={instance.tags} />],
    ["Backups", instance.backups.enabled ? instance.backups.last_successful ? <>last <Ago time={instance.backups.last_successful} /></> : "on, none yet" : "off"],
    ["Watchdog", instance.watchdog_enabled ? "on" : "off"],
    ["Created", <Ago key="created" time={instance.created} />],
    ["Id", <Copyable key="id" text={String(instance.id)} what="id" />],
  ];
  return (
    <Card title="Machine">
      <dl className={css.facts}>
        {rows
          .filter(([, value]) => value)
          .map(([name, value]) => (
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
            <dd>
              {perHour(item.hourly)} an hour, {money(item.monthly)} a month at most
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Charts({ instance }: { instance: Instance }) {
  const [span, setSpan] = useState<"day" | "month">("day");
  const now = new Date(useNow());
  const query = useQuery(span === "day" ? stats(instance.id) : monthStats(instance.id, now.getUTCFullYear(), now.getUTCMonth() + 1));
  const choice = <OneOf label="Time that the charts show" value={span} onChange={setSpan} options={{ day: "24 hours", month: "This month" }} />;
  return (
    <Card title={span === "day" ? "Last 24 hours" : "This month"} aside={choice}>
      {query.error instanceof Refused && query.error.status === 400 ? (
        <p className="quiet">{query.error.message} The first figures come a few minutes after the first boot.</p>
      ) : query.error ? (
        <ErrorMessage error={query.error} again={() => void query.refetch()} />
      ) : (
        [CPU, NET4].map((chart) => <ChartOf key={chart.title} chart={chart} seen={query.data?.data} alerts={instance.alerts} />)
      )}
    </Card>
  );
}

function History({ id }: { id: number }) {
  const { data } = useQuery(happened(id));
  if (!data || data.data.length === 0) return null;
  return (
    <Card title="What happened">
      <ol className={css.history}>
        {data.data.map((event) => (
          <li key={event.id} data-status={event.status}>
            <span className={css.what}>{words(event.action)}</span>
            <span className="quiet">
              {event.username ?? "system"}, <Ago time={event.created} />
              {event.duration ? `, took ${+event.duration.toFixed(1)} s` : ""}
            </span>
            {event.message && <span className={css.message}>{event.message}</span>}
          </li>
        ))}
      </ol>
    </Card>
  );
}
