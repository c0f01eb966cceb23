import { Button, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Event, Instance } from "../../api/client";
import { Refused } from "../../api/errors";
import { isUnderWay } from "../../live/progress";
import { Ago } from "../../ui/Cell";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { StatusDot, toneOf } from "../../ui/Status";
import { count, money, words } from "../../ui/words";
import { cost, settings } from "../account/queries";
import { recent, useUnseen } from "../events/queries";
import { sentenceText } from "../events/sentence";
import { services } from "../managed/queries";
import { usePermissions } from "../profile/permissions";
import { profile } from "../profile/queries";
import { isOpen, tickets } from "../tickets/queries";
import { Attention } from "./Attention";
import css from "./Home.module.css";
import { instanceStates } from "./queries";

export default function Home() {
  const { data: me } = useQuery(profile);
  const permissions = usePermissions();
  return (
    <Page
      title="Home"
      lead={me && `Signed in as ${me.username}`}
      actions={
        <Disabled reason={permissions.create("add_computes")}>
          <Button component={Link} to="/instances/new" leftSection={<Icon name="plus" size={16} />}>
            Create instance
          </Button>
        </Disabled>
      }
    >
      <Attention />
      <div className={css.grid}>
        <Machines />
        <Month />
        <Tickets />
        <Checks />
        <Lately />
      </div>
    </Page>
  );
}

/** A card with one figure that leads to its page. What may not be looked at says so. */
function Tile(props: { title: string; to: string; link: string; query: { isPending: boolean; isError: boolean; error: unknown; refetch: () => unknown }; wide?: boolean; children: ReactNode }) {
  const { query } = props;
  const denied = query.error instanceof Refused && (query.error.status === 403 || query.error.status === 401);
  return (
    <div className={css.tile} data-wide={props.wide || undefined}>
      <Card
        title={props.title}
        aside={
          <Link to={props.to} className={css.more}>
            {props.link} <Icon name="right" size={14} />
          </Link>
        }
      >
        {query.isPending ? <Skeleton height={84} radius={8} /> : denied ? <p className={css.note}>{query.error instanceof Error ? query.error.message : ""} Your grants do not include this.</p> : query.isError ? <ErrorMessage error={query.error} again={() => void query.refetch()} /> : props.children}
      </Card>
    </div>
  );
}

function Machines() {
  const query = useQuery(instanceStates);
  const all = query.data?.data ?? [];
  const results = query.data?.results ?? 0;
  return (
    <Tile title="Instances" to="/instances" link="All instances" query={query}>
      <p className={css.figure}>
        <strong className="figures">{results}</strong> <span className="quiet">{results === 1 ? "instance" : "instances"}{results > all.length && `, states of the first ${all.length}`}</span>
      </p>
      {all.length > 0 && <States all={all} />}
      {results === 0 && <p className={css.note}>The first is ready within a minute, and is paid for by the hour.</p>}
    </Tile>
  );
}

function States({ all }: { all: Instance[] }) {
  const counted = new Map<string, number>();
  for (const instance of all) counted.set(instance.status, (counted.get(instance.status) ?? 0) + 1);
  const states = [...counted].sort((left, right) => right[1] - left[1]);
  return (
    <>
      <div className={css.bar} aria-hidden="true">
        {states.map(([status, number]) => (
          <span key={status} data-tone={toneOf(status)} style={{ flexGrow: number }} />
        ))}
      </div>
      <ul className={css.states}>
        {states.map(([status, number]) => (
          <li key={status}>
            <StatusDot tone={toneOf(status)} /> {words(status)} <strong className="figures">{number}</strong>
          </li>
        ))}
      </ul>
    </>
  );
}

function Month() {
  const query = useQuery(cost);
  const data = query.data;
  const share = data?.forecast ? Math.min(data.month_to_date / data.forecast, 1) : 0;
  const costliest = [...(data?.services ?? [])].filter((serviceCost) => serviceCost.forecast > 0).sort((left, right) => right.forecast - left.forecast).slice(0, 3);
  return (
    <Tile title="This month" to="/billing" link="Billing" query={query}>
      <p className={css.figure}>
        <strong className="figures">{money(data?.month_to_date ?? 0)}</strong> <span className="quiet">so far, {money(data?.forecast ?? 0)} by its end</span>
      </p>
      <div className={css.bar} role="img" aria-label={`${money(data?.month_to_date ?? 0)} of ${money(data?.forecast ?? 0)}`}>
        <span data-tone="good" style={{ width: `${share * 100}%` }} />
      </div>
      <ul className={css.states}>
        {costliest.map((serviceCost) => (
          <li key={serviceCost.service}>
            {words(serviceCost.service)} <strong className="figures">{money(serviceCost.forecast)}</strong>
          </li>
        ))}
      </ul>
    </Tile>
  );
}

function Tickets() {
  const query = useQuery(tickets({ status: "open" }));
  const open = (query.data?.data ?? []).filter(isOpen);
  return (
    <Tile title="Open tickets" to="/tickets" link="All tickets" query={query}>
      {open.length === 0 && <p className={css.fine}><Icon name="check" size={16} /> None is open.</p>}
      <ul className={css.list}>
        {open.slice(0, 4).map((ticket) => (
          <li key={ticket.id}>
            <Link to={`/tickets/${ticket.id}` as string}>{ticket.summary}</Link>
            <span className="quiet"><Ago time={ticket.updated} /></span>
          </li>
        ))}
      </ul>
      {open.length > 4 && <p className={css.note}>and {open.length - 4} more</p>}
    </Tile>
  );
}

function Checks() {
  const managed = useQuery(settings);
  const on = managed.data?.managed === true;
  const query = useQuery({ ...services, enabled: on });
  const all = query.data?.data ?? [];
  const failing = all.filter((service) => service.status === "problem");
  return (
    <Tile title="Checks" to="/managed" link="Managed" query={on ? query : managed}>
      {!on && <p className={css.note}>Your account does not have the managed service: nothing is watched for you.</p>}
      {on && failing.length === 0 && <p className={css.fine}><Icon name="check" size={16} /> {all.length === 0 ? "Nothing is watched." : `${count(all.length, "service")}, none is failing.`}</p>}
      {failing.length > 0 && <p className={css.failing}><Icon name="warn" size={16} /> {failing.length} of {all.length} failing</p>}
      <ul className={css.list}>
        {failing.slice(0, 4).map((service) => (
          <li key={service.id}>
            <Link to={"/managed" as string}>{service.label}</Link>
            <span className="quiet">{service.address}</span>
          </li>
        ))}
      </ul>
    </Tile>
  );
}

function Lately() {
  const query = useQuery(recent);
  const events = query.data?.data ?? [];
  const unseen = useUnseen(events);
  return (
    <Tile title="What happened" to="/events" link="All events" query={query} wide>
      <p className={css.figure}>
        <strong className="figures">{unseen}</strong> <span className="quiet">{unseen === 50 ? "or more not seen yet" : "not seen yet"}</span>
      </p>
      <ul className={css.list}>
        {events.slice(0, 6).map((event) => (
          <li key={event.id}>
            <span className={css.sentence} data-failed={event.status === "failed" || undefined}>
              {!event.seen && <span className={css.new} role="img" aria-label="Not seen yet" />}
              {sentenceText(event)}
              {progress(event)}
            </span>
            <span className="quiet">
              {event.username ?? "system"}, <Ago time={event.created} />
            </span>
          </li>
        ))}
      </ul>
    </Tile>
  );
}

const progress = (event: Event) => (isUnderWay(event) && event.percent_complete ? `, ${event.percent_complete}%` : "");
