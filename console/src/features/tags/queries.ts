/** Questions and orders about tags, and what carries them. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";
import { type ListSearch, pageOf } from "../../ui/search";

export type Search = ListSearch;
/** An object that carries a tag, as far as every kind of them has it. */
export interface TaggedItem {
  type: string;
  id: number;
  name: string;
  tags: string[];
}

export const tags = (search: Search = {}) =>
  queryOptions({ queryKey: ["tags", "list", search], queryFn: () => body(api.GET("/tags", { params: { query: pageOf(search) } })) });

export const tagged = (label: string, search: Search = {}) =>
  queryOptions({
    queryKey: ["tags", "one", label, search],
    queryFn: async () => {
      const page = await body(api.GET("/tags/{label}", { params: { path: { label }, query: pageOf(search) } }));
      return { ...page, data: page.data.map(taggedItemOf) };
    },
  });

/** How many objects carry it, by a page of one. */
export const countOf = (label: string) =>
  queryOptions({
    queryKey: ["tags", "one", label, "count"],
    queryFn: async () => (await body(api.GET("/tags/{label}", { params: { path: { label }, query: { page_size: 25 } } }))).results,
    staleTime: 60_000,
  });

function taggedItemOf({ type, data }: Schemas["TaggedObject"]): TaggedItem {
  const seen = data as unknown as { id: number; label?: string; domain?: string; tags?: string[] };
  return { type, id: seen.id, name: seen.label ?? seen.domain ?? String(seen.id), tags: seen.tags ?? [] };
}

export const create = (wanted: Schemas["TagCreate"]) => body(api.POST("/tags", { body: wanted, params: { header: once() } }));
export const remove = (label: string) => body(api.DELETE("/tags/{label}", { params: { path: { label } } }));

/** Give one object these tags and no others. */
export function retag({ type, id }: TaggedItem, wanted: string[]): Promise<unknown> {
  const change = { tags: wanted };
  if (type === "compute") return body(api.PUT("/compute/instances/{computeId}", { params: { path: { computeId: id } }, body: change }));
  if (type === "domain") return body(api.PUT("/domains/{domainId}", { params: { path: { domainId: id } }, body: change }));
  if (type === "nodebalancer") return body(api.PUT("/nodebalancers/{nodebalancerId}", { params: { path: { nodebalancerId: id } }, body: change }));
  if (type === "firewall") return body(api.PUT("/networking/firewalls/{firewallId}", { params: { path: { firewallId: id } }, body: change }));
  return body(api.PUT("/volumes/{volumeId}", { params: { path: { volumeId: id } }, body: change }));
}
