/** Questions and orders about load balancers, their configurations and nodes. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, ASK_FIRST, body, once, planned, type Schemas } from "../../api/client";
import { listCall, type ListSearch } from "../../ui/search";

export type Balancer = Schemas["NodeBalancerView"];
export type Config = Schemas["NodeBalancerConfigView"];
export type Node = Schemas["NodeBalancerNodeView"];
export type Search = ListSearch<"tag">;
const path = (id: number) => ({ path: { nodebalancerId: id } });
const inside = (id: number, configId: number) => ({ path: { nodebalancerId: id, configId } });

export const balancers = (search: Search = {}) =>
  queryOptions({
    queryKey: ["nodebalancers", "list", search],
    queryFn: () => body(api.GET("/nodebalancers", { params: listCall(search, ["label", "tags", "ipv4"]) })),
    placeholderData: keepPreviousData,
  });

export const balancerById = (id: number) => queryOptions({ queryKey: ["nodebalancers", "one", id, "view"], queryFn: () => body(api.GET("/nodebalancers/{nodebalancerId}", { params: path(id) })) });
export const configs = (id: number) => queryOptions({ queryKey: ["nodebalancers", "one", id, "configs"], queryFn: () => body(api.GET("/nodebalancers/{nodebalancerId}/configs", { params: path(id) })) });
export const nodes = (id: number, configId: number) =>
  queryOptions({ queryKey: ["nodebalancers", "one", id, "nodes", configId], queryFn: () => body(api.GET("/nodebalancers/{nodebalancerId}/configs/{configId}/nodes", { params: inside(id, configId) })), refetchInterval: 30_000 });
export const stats = (id: number) => queryOptions({ queryKey: ["stats", "nodebalancers", id], queryFn: () => body(api.GET("/nodebalancers/{nodebalancerId}/stats", { params: path(id) })), refetchInterval: 60_000 });

export type Wanted = Schemas["NodeBalancerCreate"];
export type WantedConfig = Schemas["NodeBalancerConfigBody"];
export const planCreate = (wanted: Wanted, signal: AbortSignal) => planned(api.POST("/nodebalancers", { body: wanted, params: { header: ASK_FIRST }, signal }));
export const create = (wanted: Wanted) => body(api.POST("/nodebalancers", { body: wanted, params: { header: once() } }));
export const update = (id: number, change: Schemas["NodeBalancerUpdate"]) => body(api.PUT("/nodebalancers/{nodebalancerId}", { params: path(id), body: change }));
export const remove = (id: number) => body(api.DELETE("/nodebalancers/{nodebalancerId}", { params: path(id) }));
export const createConfig = (id: number, wanted: WantedConfig) => body(api.POST("/nodebalancers/{nodebalancerId}/configs", { params: { ...path(id), header: once() }, body: wanted }));
export const updateConfig = (id: number, configId: number, wanted: WantedConfig) => body(api.PUT("/nodebalancers/{nodebalancerId}/configs/{configId}", { params: inside(id, configId), body: wanted }));
export const removeConfig = (id: number, configId: number) => body(api.DELETE("/nodebalancers/{nodebalancerId}/configs/{configId}", { params: inside(id, configId) }));
/** All nodes of a configuration at once: those that are not named go. */
export const rebuild = (id: number, configId: number, wanted: Schemas["NodeBalancerConfigRebuild"]) =>
  body(api.POST("/nodebalancers/{nodebalancerId}/configs/{configId}/rebuild", { params: inside(id, configId), body: wanted }));
export const createNode = (id: number, configId: number, wanted: Schemas["NodeBalancerNodeBody"]) =>
  body(api.POST("/nodebalancers/{nodebalancerId}/configs/{configId}/nodes", { params: { ...inside(id, configId), header: once() }, body: wanted }));
export const updateNode = (id: number, configId: number, nodeId: number, wanted: Schemas["NodeBalancerNodeUpdate"]) =>
  body(api.PUT("/nodebalancers/{nodebalancerId}/configs/{configId}/nodes/{nodeId}", { params: { path: { nodebalancerId: id, configId, nodeId } }, body: wanted }));
export const removeNode = (id: number, configId: number, nodeId: number) =>
  body(api.DELETE("/nodebalancers/{nodebalancerId}/configs/{configId}/nodes/{nodeId}", { params: { path: { nodebalancerId: id, configId, nodeId } } }));
