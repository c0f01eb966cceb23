/** Questions and orders about volumes. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, ASK_FIRST, body, once, planned, type Schemas } from "../../api/client";
import { listCall, type ListSearch } from "../../ui/search";

export type Volume = Schemas["VolumeView"];
export type Search = ListSearch<"tag">;

export const volumes = (search: Search = {}) =>
  queryOptions({
    queryKey: ["volumes", "list", search],
    queryFn: () => body(api.GET("/volumes", { params: listCall(search, ["label", "tags"]) })),
    placeholderData: keepPreviousData,
    // Resizing and cloning leave one event when they are ordered and none when they are done.
    refetchInterval: (query) => (query.state.data?.data.some((volume) => volume.status === "resizing" || volume.status === "creating") ? 2_000 : false),
  });

export const configs = (computeId: number) =>
  queryOptions({
    queryKey: ["instances", "one", computeId, "configs"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/configs", { params: { path: { computeId } } })),
  });

export type Wanted = Schemas["VolumeCreate"];
const path = (id: number) => ({ path: { volumeId: id } });

export const planCreate = (wanted: Wanted, signal: AbortSignal) => planned(api.POST("/volumes", { body: wanted, params: { header: ASK_FIRST }, signal }));
export const create = (wanted: Wanted) => body(api.POST("/volumes", { body: wanted, params: { header: once() } }));
export const update = (id: number, change: Schemas["VolumeUpdate"]) => body(api.PUT("/volumes/{volumeId}", { params: path(id), body: change }));
export const attach = (id: number, wanted: Schemas["VolumeAttach"]) => body(api.POST("/volumes/{volumeId}/attach", { params: path(id), body: wanted }));
export const detach = (id: number) => body(api.POST("/volumes/{volumeId}/detach", { params: path(id) }));
export const resize = (id: number, size: number) => body(api.POST("/volumes/{volumeId}/resize", { params: path(id), body: { size } }));
export const planResize = (id: number, size: number, signal: AbortSignal) =>
  planned(api.POST("/volumes/{volumeId}/resize", { params: { ...path(id), header: ASK_FIRST }, body: { size }, signal }));
export const clone = (id: number, label: string) => body(api.POST("/volumes/{volumeId}/clone", { params: { ...path(id), header: once() }, body: { label } }));
export const planClone = (id: number, label: string, signal: AbortSignal) =>
  planned(api.POST("/volumes/{volumeId}/clone", { params: { ...path(id), header: ASK_FIRST }, body: { label }, signal }));
export const remove = (id: number) => body(api.DELETE("/volumes/{volumeId}", { params: path(id) }));
