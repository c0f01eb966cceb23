/** Questions about events, and the marks on them. `["events", "recent"]` is kept by the stream: see live/follow.ts. */
import { infiniteQueryOptions, type InfiniteData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { api, body, type Event, filter, type Schemas } from "../../api/client";
import type { Search } from "./matching";

type EventPage = Schemas["EventViewPage"];

const SHOWN = 100;

/** The newest 50, as the stream tells them. Nothing is asked here. */
export const recent = queryOptions<{ data: Event[] }>({ queryKey: ["events", "recent"], enabled: false });

function wantedOf({ entity, action }: Search, before: number | null): object {
  const [type, id] = entity?.split(":") ?? [];
  return {
    ...(type ? { "entity.type": type } : {}),
    ...(id ? { "entity.id": /^\d+$/.test(id) ? Number(id) : id } : {}),
    ...(action ? { action: { "+contains": action } } : {}),
    ...(before ? { id: { "+lt": before } } : {}),
  };
}

/** By id and not by page: what happens meanwhile does not move the rows of older pages. */
export const events = (search: Search = {}) =>
  infiniteQueryOptions({
    queryKey: ["events", "list", search.entity ?? "", search.action ?? ""],
    queryFn: ({ pageParam }) => body(api.GET("/account/events", { params: { query: { page_size: SHOWN }, header: filter(wantedOf(search, pageParam)) } })),
    initialPageParam: null as number | null,
    getNextPageParam: (last) => (last.pages > 1 ? (last.data.at(-1)?.id ?? null) : null),
    staleTime: 60_000, // what is new comes by the stream
  });

/** Shown at once; a refusal is made good by the next answer. */
export function useMarkSeen() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (id: number) => body(api.POST("/account/events/{eventId}/seen", { params: { path: { eventId: id } } })),
    onMutate: (id) => {
      const mark = (event: Event) => (event.id <= id && !event.seen ? { ...event, seen: true } : event);
      cache.setQueryData<{ data: Event[] }>(["events", "recent"], (kept) => kept && { ...kept, data: kept.data.map(mark) });
      cache.setQueriesData<InfiniteData<EventPage>>({ queryKey: ["events", "list"] }, (kept) => kept && { ...kept, pages: kept.pages.map((page) => ({ ...page, data: page.data.map(mark) })) });
    },
    onError: () => cache.invalidateQueries({ queryKey: ["events"] }),
  });
}

export function useUnseen(events: readonly Event[] | undefined): number {
  return (events ?? []).filter((event) => !event.seen).length;
}
