/** Questions and orders about Longview: clients, and the plan that says how many there may be. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";
import { listCall, type ListSearch } from "../../ui/search";

export type Client = Schemas["LongviewClientView"];
export type Subscription = Schemas["LongviewSubscriptionView"];
export type Search = ListSearch;
const path = (id: number) => ({ path: { longviewId: id } });

export const clients = (search: Search = {}) =>
  queryOptions({
    queryKey: ["longview", "list", search],
    queryFn: () => body(api.GET("/longview/clients", { params: listCall(search, ["label"]) })),
    placeholderData: keepPreviousData,
  });

/** With its key and what installs the agent, which lists leave out. */
export const clientById = (id: number) => queryOptions({ queryKey: ["longview", "one", id], queryFn: () => body(api.GET("/longview/clients/{longviewId}", { params: path(id) })) });

export const subscriptions = queryOptions({ queryKey: ["catalogue", "longview"], queryFn: () => body(api.GET("/longview/subscriptions")), staleTime: Number.POSITIVE_INFINITY });
/** Null while the account has the free one. */
export const plan = queryOptions({ queryKey: ["longview", "plan"], queryFn: async () => ((await body(api.GET("/longview/plan"))) as Partial<Subscription>).id ?? null });

export const create = (label: string) => body(api.POST("/longview/clients", { body: label ? { label } : {}, params: { header: once() } }));
export const rename = (id: number, label: string) => body(api.PUT("/longview/clients/{longviewId}", { params: path(id), body: { label } }));
export const remove = (id: number) => body(api.DELETE("/longview/clients/{longviewId}", { params: path(id) }));
export const subscribe = (id: Subscription["id"] | null) => body(api.PUT("/longview/plan", { body: { longview_subscription: id } }));
