/** Questions and orders about firewalls. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";
import { listCall, type ListSearch } from "../../ui/search";

export type Firewall = Schemas["FirewallView"];
export type Device = Schemas["FirewallDeviceView"];
export type Rules = Schemas["RulesView"];
export type Search = ListSearch<"tag">;

export const firewalls = (search: Search = {}) =>
  queryOptions({
    queryKey: ["firewalls", "list", search],
    queryFn: () => body(api.GET("/networking/firewalls", { params: listCall(search, ["label", "tags"]) })),
    placeholderData: keepPreviousData,
  });

const path = (id: number) => ({ path: { firewallId: id } });

export const firewallById = (id: number) =>
  queryOptions({
    queryKey: ["firewalls", "one", id, "view"],
    queryFn: () => body(api.GET("/networking/firewalls/{firewallId}", { params: path(id) })),
  });

export const devices = (id: number) =>
  queryOptions({
    queryKey: ["firewalls", "one", id, "devices"],
    queryFn: () => body(api.GET("/networking/firewalls/{firewallId}/devices", { params: { ...path(id), query: { page_size: 500 } } })),
  });

export const create = (wanted: Schemas["FirewallCreate"]) => body(api.POST("/networking/firewalls", { body: wanted, params: { header: once() } }));
export const update = (id: number, change: Schemas["FirewallUpdate"]) => body(api.PUT("/networking/firewalls/{firewallId}", { params: path(id), body: change }));
export const updateRules = (id: number, rules: Schemas["RulesUpdate"]) => body(api.PUT("/networking/firewalls/{firewallId}/rules", { params: path(id), body: rules }));
export const addDevice = (id: number, computeId: number) => body(api.POST("/networking/firewalls/{firewallId}/devices", { params: path(id), body: { id: computeId, type: "compute" } }));
export const removeDevice = (id: number, deviceId: number) => body(api.DELETE("/networking/firewalls/{firewallId}/devices/{firewallDeviceId}", { params: { path: { firewallId: id, firewallDeviceId: deviceId } } }));
export const remove = (id: number) => body(api.DELETE("/networking/firewalls/{firewallId}", { params: path(id) }));
