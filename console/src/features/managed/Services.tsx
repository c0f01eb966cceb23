import { Button, Skeleton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Ago } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Icon } from "../../ui/Icon";
import { useNow } from "../../ui/now";
import { Card, Empty, ErrorMessage } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { RowMenu } from "../../ui/RowMenu";
import { count } from "../../ui/words";
import { tickets } from "../tickets/queries";
import { Frame } from "./Frame";
import { beats, type Outage } from "./heartbeat";
import css from "./Managed.module.css";
import { type Issue, issues, pauseService, removeService, resumeService, type Service, services } from "./queries";
import { ServiceForm } from "./ServiceForm";

const CURL = 'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4/managed/services \\\n  --json \'{"label": "shop", "service_type": "url", "address": "https://shop.example", "timeout": 10}\'';
const WORDS: Record<Service["status"], string> = { ok: "Works", problem: "Failing", pending: "Not checked yet", disabled: "Paused" };

export default function Services() {
  const [edited, setEdited] = useState<Service | "new" | null>(null);
  const add = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setEdited("new")}>
      Watch a service
    </Button>
  );
  return (
    <Frame actions={add}>
      <Tiles onEdit={setEdited} add={add} />
      {edited && <ServiceForm service={edited === "new" ? null : edited} onClose={() => setEdited(null)} />}
    </Frame>
  );
}

function Tiles({ onEdit, add }: { onEdit: (service: Service) => void; add: React.ReactNode }) {
  const query = useQuery(services);
  const issueList = useQuery(issues).data?.data ?? [];
  const closed = new Map((useQuery(tickets()).data?.data ?? []).map((ticket) => [ticket.id, ticket.closed]));
  const [toRemove, setToRemove] = useState<Service | null>(null);
  const cache = useQueryClient();
  const all = query.data?.data ?? [];
  if (query.isError) return <ErrorMessage error={query.error} again={() => void query.refetch()} />;
  if (query.isPending) return <Skeleton height={160} radius={10} />;
  if (all.length === 0)
    return (
      <Card flush>
        <Empty icon="pulse" title="Nothing is watched yet" command={CURL} action={add}>
          Name an address: a web page, or a port that takes connections. It is looked at every minute.
        </Empty>
      </Card>
    );
  return (
    <>
      <ul className={css.tiles}>
        {all.map((service) => (
          <Tile key={service.id} service={service} issueList={issueList.filter((issue) => issue.services.includes(service.id))} closed={closed} onEdit={onEdit} onRemove={setToRemove} />
        ))}
      </ul>
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Delete"
          label={toRemove.label}
          lost={<p>It is not looked at any more, and nobody is told when it fails. Its issues stay.</p>}
          onConfirm={async () => {
            await removeService(toRemove.id);
            await cache.invalidateQueries({ queryKey: ["managed"] });
          }}
        />
      )}
    </>
  );
}

function Tile(props: { service: Service; issueList: Issue[]; closed: Map<number, string | null>; onEdit: (service: Service) => void; onRemove: (service: Service) => void }) {
  const { service, issueList, closed } = props;
  const cache = useQueryClient();
  const paused = service.status === "disabled";
  const turn = async () => {
    try {
      await (paused ? resumeService(service.id) : pauseService(service.id));
      await cache.invalidateQueries({ queryKey: ["managed"] });
    } catch (error) {
      notifications.show({ title: service.label, message: (error as Error).message, color: "red.8" });
    }
  };
  // What has no closed ticket is still going on, unless the service works again.
  const outages = issueList.map((issue): Outage => ({ from: issue.created, to: closed.get(issue.entity.id) ?? (service.status === "problem" ? null : issue.created) }));
  const latest = [...issueList].sort((left, right) => right.id - left.id)[0];
  return (
    <li className={css.tile} data-status={service.status}>
      <div className={css.tileHead}>
        <div>
          <h2>{service.label}</h2>
          <span className={`${css.address} mono`}>{service.address}</span>
        </div>
        <RowMenu
          label={service.label}
          actions={[
            { label: "Change…", icon: "pencil", onClick: () => props.onEdit(service) },
            { label: paused ? "Watch again" : "Pause", icon: "power", onClick: () => void turn() },
            { label: "Delete…", icon: "trash", danger: true, onClick: () => props.onRemove(service) },
          ]}
        />
      </div>
      <Heartbeat service={service} outages={outages} />
      <div className={css.tileFoot}>
        <span className={css.state}>
          <Icon name={service.status === "ok" ? "check" : service.status === "problem" ? "warn" : "clock"} size={14} /> {WORDS[service.status]}
        </span>
        {latest ? (
          <RowLink to={`/tickets/${latest.entity.id}`}>Ticket {latest.entity.id}, <Ago time={latest.created} /></RowLink>
        ) : (
          <span className="quiet">no issue so far</span>
        )}
      </div>
    </li>
  );
}

function Heartbeat({ service, outages }: { service: Service; outages: Outage[] }) {
  const strip = beats(service.created, outages, useNow());
  const bad = strip.filter((beat) => beat.state === "problem").length;
  return (
    <div className={css.strip} role="img" aria-label={`Last 30 days: ${bad === 0 ? "no day with an issue" : `${count(bad, "day")} with an issue`}`}>
      {strip.map((beat) => (
        <span key={beat.day} data-state={beat.state} />
      ))}
    </div>
  );
}
