/** Questions and orders about StackScripts. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, filter, once, type Schemas } from "../../api/client";
import { listCall, type ListSearch } from "../../ui/search";

export type StackScript = Schemas["StackScriptView"];
/** `kind` is `community` for those of others; without it they are the account's. */
export type Search = ListSearch<"kind">;

export const stackscripts = (search: Search = {}) =>
  queryOptions({
    queryKey: ["stackscripts", "list", search],
    queryFn: () => body(api.GET("/compute/stackscripts", { params: listCall(search, ["label", "description"], search.kind === "community" ? { is_public: true } : { mine: true }) })),
  });

export const stackscriptById = (id: number) =>
  queryOptions({
    queryKey: ["stackscripts", "one", id],
    queryFn: () => body(api.GET("/compute/stackscripts/{stackscriptId}", { params: { path: { stackscriptId: id } } })),
  });

/** What happened to a script: each change of its text is an event. */
export const revisions = (id: number) =>
  queryOptions({
    queryKey: ["stackscripts", "one", id, "revisions"],
    queryFn: () => body(api.GET("/account/events", { params: { query: { page_size: 25 }, header: filter({ "entity.type": "stackscript", "entity.id": id }) } })),
  });

export const create = (wanted: Schemas["StackScriptCreate"]) => body(api.POST("/compute/stackscripts", { body: wanted, params: { header: once() } }));
export const update = (id: number, change: Schemas["StackScriptUpdate"]) => body(api.PUT("/compute/stackscripts/{stackscriptId}", { params: { path: { stackscriptId: id } }, body: change }));
export const remove = (id: number) => body(api.DELETE("/compute/stackscripts/{stackscriptId}", { params: { path: { stackscriptId: id } } }));
