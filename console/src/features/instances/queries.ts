/** Questions and orders about instances. Keys begin with the feature's name: events make them stale by it. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { api, ASK_FIRST, body, type Event, filter, type Instance, once, planned, type Schemas } from "../../api/client";
import { chosen } from "../../api/errors";
import { type ListSearch, orderOf, pageOf } from "../../ui/search";

export type Search = ListSearch<"tag" | "region" | "status">;

/** The words of the search field are looked for in what a person knows an instance by. */
function wantedOf({ q, tag, region }: Search): object {
  const parts: object[] = [];
  if (q) parts.push({ "+or": [{ label: { "+contains": q } }, { tags: { "+contains": q } }, { ipv4: { "+contains": q } }] });
  if (tag) parts.push({ tags: tag });
  if (region) parts.push({ region });
  return parts.length > 1 ? { "+and": parts } : (parts[0] ?? {});
}

const MOST = 500;

/** The API has no filter by status: with one, as many as an answer holds are asked for, and the rest is left out here. */
export const instances = (search: Search = {}) =>
  queryOptions({
    queryKey: ["instances", "list", search],
    queryFn: async () => {
      const query = search.status ? { page: 1, page_size: MOST } : pageOf(search);
      const answer = await body(api.GET("/compute/instances", { params: { query, header: filter({ ...wantedOf(search), ...orderOf(search.order) }) } }));
      if (!search.status) return answer;
      const data = answer.data.filter((instance) => isInState(instance, search.status));
      return { ...answer, data, page: 1, pages: 1, results: data.length, looked: answer.results > MOST ? MOST : undefined };
    },
  });

/** `changing` stands for all states that pass by themselves. */
const isInState = (instance: Instance, state: string | undefined) => (state === "changing" ? !["running", "offline", "stopped"].includes(instance.status) : instance.status === state);
/** Instances that a field offers, by what has been typed into it. */
export const choices = (typed: string, region?: string) =>
  queryOptions({
    queryKey: ["instances", "list", "choices", typed, region],
    queryFn: () => {
      const wanted = { ...(typed ? { label: { "+contains": typed } } : {}), ...(region ? { region } : {}), "+order_by": "label" };
      return body(api.GET("/compute/instances", { params: { query: { page_size: 100 }, header: filter(wanted) } }));
    },
  });

/** The number that a form has of an instance, which it cannot be sent without. */
export const chosenInstance = (id: string | null, field = "compute_id") => Number(chosen(id, field, "Choose an instance"));

const TERMS = 20;

/** What instances are called, by number, for rows that have only that. The API takes so many conditions at once. */
export const namesOf = (ids: readonly number[]) =>
  queryOptions({
    queryKey: ["instances", "names", ids],
    queryFn: async () => {
      const groups = Array.from({ length: Math.ceil(ids.length / TERMS) }, (_, group) => ids.slice(group * TERMS, (group + 1) * TERMS));
      const answers = await Promise.all(groups.map((group) => body(api.GET("/compute/instances", { params: { query: { page_size: MOST }, header: filter({ "+or": group.map((id) => ({ id })) }) } }))));
      return Object.fromEntries(answers.flatMap((answer) => answer.data.map(({ id, label }) => [id, label] as const)));
    },
  });

export const instanceById = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "view"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}", { params: { path: { computeId: id } } })),
  });

export const stats = (id: number) =>
  queryOptions({
    queryKey: ["stats", id],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/stats", { params: { path: { computeId: id } } })),
    refetchInterval: 60_000,
  });

export const monthStats = (id: number, year: number, month: number) =>
  queryOptions({
    queryKey: ["stats", id, year, month],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/stats/{year}/{month}", { params: { path: { computeId: id, year, month } } })),
  });

export const transfer = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "transfer"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/transfer", { params: { path: { computeId: id } } })),
  });

export const monthTransfer = (id: number, year: number, month: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "transfer", year, month],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/transfer/{year}/{month}", { params: { path: { computeId: id, year, month } } })),
  });

export const happened = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "events"],
    queryFn: () => body(api.GET("/account/events", { params: { query: { page_size: 25 }, header: filter({ "entity.type": "compute", "entity.id": id, "+order_by": "id", "+order": "desc" }) } })),
    select: (answer: { data: Event[] }) => ({ data: answer.data.slice(0, 8) }),
  });

export const cost = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "cost"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/cost", { params: { path: { computeId: id } } })),
  });

export type Change = Schemas["InstanceUpdate"];
export const update = (id: number, change: Change) => body(api.PUT("/compute/instances/{computeId}", { params: { path: { computeId: id } }, body: change }));

export const deletion = (id: number) =>
  queryOptions({
    queryKey: ["plan", "instances", "delete", id],
    queryFn: () => planned(api.DELETE("/compute/instances/{computeId}", { params: { path: { computeId: id }, header: ASK_FIRST } })),
  });

const CATALOGUE = { staleTime: Number.POSITIVE_INFINITY };
export const types = queryOptions({ queryKey: ["catalogue", "types"], queryFn: () => body(api.GET("/compute/types")), ...CATALOGUE });
export const regions = queryOptions({ queryKey: ["catalogue", "regions"], queryFn: () => body(api.GET("/regions")), ...CATALOGUE });
/** Those of the account are among them, and change. */
export const images = queryOptions({ queryKey: ["images", "choices"], queryFn: () => body(api.GET("/images", { params: { query: { page_size: MOST } } })) });
export const legacyTypes = queryOptions({ queryKey: ["catalogue", "types-legacy"], queryFn: () => body(api.GET("/compute/types-legacy")), ...CATALOGUE });

export type Wanted = Schemas["InstanceCreate"];

export const planOf = (wanted: Wanted) =>
  queryOptions({
    queryKey: ["plan", "instances", wanted],
    queryFn: ({ signal }) => planned(api.POST("/compute/instances", { body: wanted, params: { header: ASK_FIRST }, signal })),
    staleTime: 30_000,
  });

/** `key` names the attempt: with the same one it is made once, however often it is sent. */
export const create = (wanted: Wanted, key = once()) => body(api.POST("/compute/instances", { body: wanted, params: { header: key } }));

export const remove = (id: number) => body(api.DELETE("/compute/instances/{computeId}", { params: { path: { computeId: id } } }));

export type Order = "boot" | "reboot" | "shutdown";
const SHOWS: Record<Order, Instance["status"]> = { boot: "booting", reboot: "rebooting", shutdown: "shutting_down" };
/** From which states an order is accepted; docs/state-machine.md has the table. */
export const ACCEPTS: Record<Order, readonly Instance["status"][]> = { boot: ["offline"], reboot: ["running"], shutdown: ["running"] };

/** Shown at once, and taken back if it is refused. The events tell the rest. */
export function usePower() {
  const cache = useQueryClient();
  const show = (id: number, status: Instance["status"]) => {
    const change = (instance: Instance) => (instance.id === id ? { ...instance, status } : instance);
    cache.setQueriesData<{ data: Instance[] }>({ queryKey: ["instances", "list"] }, (kept) => kept && { ...kept, data: kept.data.map(change) });
    cache.setQueryData<Instance>(["instances", "one", id, "view"], (kept) => kept && change(kept));
  };
  return useMutation({
    mutationFn: ({ instance, order, config }: { instance: Instance; order: Order; config?: number }) => {
      const params = { path: { computeId: instance.id } };
      const which = config === undefined ? {} : { config_id: config };
      if (order === "boot") return body(api.POST("/compute/instances/{computeId}/boot", { params, body: which }));
      if (order === "reboot") return body(api.POST("/compute/instances/{computeId}/reboot", { params, body: which }));
      return body(api.POST("/compute/instances/{computeId}/shutdown", { params }));
    },
    onMutate: ({ instance, order }) => show(instance.id, SHOWS[order]),
    onError: (_error, { instance }) => show(instance.id, instance.status),
  });
}

/** Why an order would be refused now, in words. */
export function refusalOf(instance: Instance, order: Order, busy: boolean): string | undefined {
  if (busy) return "Something is under way";
  return ACCEPTS[order].includes(instance.status) ? undefined : `Not while it is ${instance.status.replaceAll("_", " ")}`;
}
