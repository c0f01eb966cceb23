/** Questions and orders about instances. Keys begin with the feature's name: events make them stale by it. */
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { api, ASK_FIRST, body, filter, type Instance, once, planned, type Schemas } from "../../api/client";
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

export const instances = (search: Search = {}) =>
  queryOptions({
    queryKey: ["instances", "list", search],
    queryFn: () =>
      body(api.GET("/compute/instances", { params: { query: pageOf(search), header: filter({ ...wantedOf(search), ...orderOf(search.order) }) } })),
  });

/** Instances that a field offers, by what has been typed into it. */
export const choices = (typed: string, region?: string) =>
  queryOptions({
    queryKey: ["instances", "list", "choices", typed, region],
    queryFn: () => {
      const wanted = { ...(typed ? { label: { "+contains": typed } } : {}), ...(region ? { region } : {}), "+order_by": "label" };
      return body(api.GET("/compute/instances", { params: { query: { page_size: 100 }, header: filter(wanted) } }));
    },
  });

export const instance = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "view"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}", { params: { path: { computeId: id } } })),
  });

export const stats = (id: number) =>
  queryOptions({
    queryKey: ["stats", id],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/stats", { params: { path: { computeId: id } } })),
    refetchInterval: 60_000,
    retry: false,
  });

export const cost = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "cost"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/cost", { params: { path: { computeId: id } } })),
  });

const CATALOGUE = { staleTime: Number.POSITIVE_INFINITY };
export const types = queryOptions({ queryKey: ["catalogue", "types"], queryFn: () => body(api.GET("/compute/types")), ...CATALOGUE });
export const regions = queryOptions({ queryKey: ["catalogue", "regions"], queryFn: () => body(api.GET("/regions")), ...CATALOGUE });
export const images = queryOptions({ queryKey: ["catalogue", "images"], queryFn: () => body(api.GET("/images", { params: { query: { page_size: 500 } } })), ...CATALOGUE });

export type Wanted = Schemas["InstanceCreate"];

export const planOf = (wanted: Wanted) =>
  queryOptions({
    queryKey: ["plan", "instances", wanted],
    queryFn: ({ signal }) => planned(api.POST("/compute/instances", { body: wanted, params: { header: ASK_FIRST }, signal })),
    retry: false,
    staleTime: 30_000,
  });

export const create = (wanted: Wanted) => body(api.POST("/compute/instances", { body: wanted, params: { header: once() } }));

export const remove = (id: number) => body(api.DELETE("/compute/instances/{computeId}", { params: { path: { computeId: id } } }));

export type Order = "boot" | "reboot" | "shutdown";
const SHOWS: Record<Order, Instance["status"]> = { boot: "booting", reboot: "rebooting", shutdown: "shutting_down" };
/** From which states an order is accepted; docs/state-machine.md has the table. */
export const ACCEPTS: Record<Order, readonly Instance["status"][]> = { boot: ["offline"], reboot: ["running"], shutdown: ["running"] };

/** Shown at once, and taken back if it is refused. The events tell the rest. */
export function usePower() {
  const cache = useQueryClient();
  const show = (id: number, status: Instance["status"]) => {
    const change = (one: Instance) => (one.id === id ? { ...one, status } : one);
    cache.setQueriesData<{ data: Instance[] }>({ queryKey: ["instances", "list"] }, (kept) => kept && { ...kept, data: kept.data.map(change) });
    cache.setQueryData<Instance>(["instances", "one", id, "view"], (kept) => kept && change(kept));
  };
  return useMutation({
    mutationFn: ({ one, order }: { one: Instance; order: Order }) => {
      const params = { path: { computeId: one.id } };
      if (order === "boot") return body(api.POST("/compute/instances/{computeId}/boot", { params, body: {} }));
      if (order === "reboot") return body(api.POST("/compute/instances/{computeId}/reboot", { params, body: {} }));
      return body(api.POST("/compute/instances/{computeId}/shutdown", { params }));
    },
    onMutate: ({ one, order }) => show(one.id, SHOWS[order]),
    onError: (_error, { one }) => show(one.id, one.status),
  });
}
