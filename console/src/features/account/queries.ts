/** The account itself: who it belongs to, its settings, what it costs. Events of the account make all of it stale. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";

export type Contact = Schemas["AccountUpdate"];
export type Settings = Schemas["SettingsUpdate"];

export const account = queryOptions({ queryKey: ["account", "view"], queryFn: () => body(api.GET("/account")) });
export const cost = queryOptions({ queryKey: ["account", "cost"], queryFn: () => body(api.GET("/account/cost")) });
/** By instance: as many as an answer holds. */
export const instanceCosts = queryOptions({ queryKey: ["account", "cost", "instances"], queryFn: () => body(api.GET("/account/cost/instances", { params: { query: { page_size: 500 } } })) });
export const settings = queryOptions({ queryKey: ["account", "settings"], queryFn: () => body(api.GET("/account/settings")) });
export const transfer = queryOptions({ queryKey: ["account", "transfer"], queryFn: () => body(api.GET("/account/transfer")) });

export const change = (contact: Contact) => body(api.PUT("/account", { body: contact }));
export const changeSettings = (wanted: Settings) => body(api.PUT("/account/settings", { body: wanted }));
export const cancel = (comments: string) => body(api.POST("/account/cancel", { body: comments ? { comments } : {}, params: { header: once() } }));
