import { Button, Select, Skeleton, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";

import type { Event } from "../../api/client";
import { isUnderWay } from "../../live/progress";
import { csv, download } from "../../ui/csv";
import { Icon } from "../../ui/Icon";
import { Card, Empty, ErrorMessage, Page } from "../../ui/Page";
import { count, day, words } from "../../ui/words";
import { EventList } from "./EventList";
import css from "./Events.module.css";
import { matches, type Search } from "./matching";
import { events, recent, useMarkSeen } from "./queries";

const route = getRouteApi("/events");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4/account/events';
const TYPES = ["compute", "disk", "volume", "image", "firewall", "nodebalancer", "domain", "ticket", "tag", "user", "token", "account", "payment", "managed_service"];

export default function List() {
  const search = route.useSearch();
  const query = useInfiniteQuery(events(search));
  const recentEvents = useQuery(recent).data;
  const seen = useMarkSeen();
  const { under, days, all } = useMemo(() => sorted([...(query.data?.pages.flatMap((page) => page.data) ?? []), ...(recentEvents?.data ?? [])], search), [query.data, recentEvents, search]);
  const newest = all[0];
  const unseen = all.filter((event) => !event.seen).length;
  const line = unseen > 0 ? all.find((event) => event.seen)?.id : undefined;
  const narrowed = Boolean(search.actor || search.entity || search.action);
  return (
    <Page
      title="Events"
      lead={query.data && (unseen > 0 ? `${count(unseen, "event")} that you have not seen` : "You have seen everything")}
      actions={
        <>
          <Button variant="default" leftSection={<Icon name="download" size={16} />} disabled={all.length === 0} onClick={() => save(all)} aria-label="Save the events shown as CSV">
            CSV
          </Button>
          <Button disabled={!newest || unseen === 0} leftSection={<Icon name="check" size={16} />} onClick={() => newest && seen.mutate(newest.id)}>
            Mark all as seen
          </Button>
        </>
      }
    >
      <Filters search={search} all={all} />
      {query.isError && <ErrorMessage error={query.error} again={() => void query.refetch()} />}
      {query.isPending && <Skeleton height={240} radius={10} />}
      {query.isSuccess && all.length === 0 && (
        <Card flush>
          {narrowed ? (
            <Empty icon="clock" title="No events match">
              Nothing of the last 90 days fits these filters.
            </Empty>
          ) : (
            <Empty icon="clock" title="Nothing has happened yet" command={CURL}>
              Whatever is done on your account in the last 90 days is told here, by whom and how it went.
            </Empty>
          )}
        </Card>
      )}
      <div className={css.days}>
        {under.length > 0 && (
          <Card title="Under way" flush>
            <EventList events={under} />
          </Card>
        )}
        {days.map(([name, dayEvents]) => (
          <Card key={name} title={name} flush>
            <EventList events={dayEvents} onSeen={(event) => seen.mutate(event.id)} line={line} />
          </Card>
        ))}
      </div>
      {query.hasNextPage && (
        <div className={css.more}>
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show older events
          </Button>
        </div>
      )}
    </Page>
  );
}

function Filters({ search, all }: { search: Search; all: Event[] }) {
  const navigate = route.useNavigate();
  const change = (more: Search) => void navigate({ search: (before) => ({ ...before, ...more }), replace: true });
  const look = useDebouncedCallback((action: string) => change({ action: action.trim() || undefined }), 250);
  const actors = [...new Set([...all.map((event) => event.username ?? "system"), ...(search.actor ? [search.actor] : [])])].sort();
  const entities = TYPES.map((type) => ({ value: type, label: words(type === "compute" ? "instance" : type) }));
  if (search.entity && !TYPES.includes(search.entity)) entities.push({ value: search.entity, label: all.find((event) => event.entity?.label)?.entity?.label ?? search.entity });
  const active = Boolean(search.actor || search.entity || search.action);
  return (
    <div className={css.filters} role="search" aria-label="Filter events">
      <TextInput key={active ? "on" : "off"} type="search" label="What was done" placeholder="boot, create, ticket…" defaultValue={search.action ?? ""} onChange={(typed) => look(typed.currentTarget.value)} />
      <Select label="To what" placeholder="Anything" data={entities} value={search.entity ?? null} onChange={(entity) => change({ entity: entity ?? undefined })} clearable clearButtonProps={{ "aria-label": "To anything" }} />
      <Select label="By whom" placeholder="Anybody" data={actors} value={search.actor ?? null} onChange={(actor) => change({ actor: actor ?? undefined })} clearable clearButtonProps={{ "aria-label": "By anybody" }} />
      {active && (
        <Button variant="subtle" onClick={() => void navigate({ search: {}, replace: true })}>
          Clear
        </Button>
      )}
    </div>
  );
}

/** Each event once, as it was told last; what is under way apart, the rest by day, newest first. */
function sorted(every: Event[], search: Search): { under: Event[]; days: [string, Event[]][]; all: Event[] } {
  const latest = new Map(every.filter((event) => matches(event, search)).map((event) => [event.id, event]));
  const all = [...latest.values()].sort((left, right) => right.id - left.id);
  const days = new Map<string, Event[]>();
  for (const event of all) {
    if (isUnderWay(event)) continue;
    const name = day(event.created);
    days.set(name, [...(days.get(name) ?? []), event]);
  }
  return { all, under: all.filter(isUnderWay), days: [...days] };
}

function save(all: Event[]): void {
  const rows = all.map((event) => [event.id, event.created, event.action, event.status, event.username, event.entity?.type, event.entity?.id === null ? null : String(event.entity?.id ?? ""), event.entity?.label, event.message]);
  download("events.csv", `\ufeff${csv(["id", "created", "action", "status", "username", "type", "entity", "label", "message"], rows)}`);
}
