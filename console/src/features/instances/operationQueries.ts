/** What changes an instance as a whole. Each can be asked first: the plan says what it does and what it costs. */
import { queryOptions } from "@tanstack/react-query";

import { api, ASK_FIRST, body, once, planned, type Schemas } from "../../api/client";

const of = (computeId: number) => ({ path: { computeId } });
const asking = (computeId: number) => ({ path: { computeId }, header: ASK_FIRST });

type Resize = Schemas["Resize"];
export const resize = (id: number, wanted: Resize) => body(api.POST("/compute/instances/{computeId}/resize", { params: of(id), body: wanted }));
export const resizing = (id: number, wanted: Resize) =>
  queryOptions({
    queryKey: ["plan", "instances", "resize", id, wanted],
    queryFn: () => planned(api.POST("/compute/instances/{computeId}/resize", { params: asking(id), body: wanted })),
  });

type Clone = Schemas["Clone"];
export const clone = (id: number, wanted: Clone) => body(api.POST("/compute/instances/{computeId}/clone", { params: { ...of(id), header: once() }, body: wanted }));
export const cloning = (id: number, wanted: Clone) =>
  queryOptions({
    queryKey: ["plan", "instances", "clone", id, wanted],
    queryFn: () => planned(api.POST("/compute/instances/{computeId}/clone", { params: asking(id), body: wanted })),
  });

type Migrate = Schemas["Migrate"];
export const migrate = (id: number, wanted: Migrate) => body(api.POST("/compute/instances/{computeId}/migrate", { params: of(id), body: wanted }));
export const migrating = (id: number, wanted: Migrate) =>
  queryOptions({
    queryKey: ["plan", "instances", "migrate", id, wanted],
    queryFn: () => planned(api.POST("/compute/instances/{computeId}/migrate", { params: asking(id), body: wanted })),
  });

export const mutate = (id: number, allow: boolean) => body(api.POST("/compute/instances/{computeId}/mutate", { params: of(id), body: { allow_auto_disk_resize: allow } }));
export const mutating = (id: number) =>
  queryOptions({
    queryKey: ["plan", "instances", "mutate", id],
    queryFn: () => planned(api.POST("/compute/instances/{computeId}/mutate", { params: asking(id), body: {} })),
  });

export const rescue = (id: number, devices: NonNullable<Schemas["Rescue"]["devices"]>) => body(api.POST("/compute/instances/{computeId}/rescue", { params: of(id), body: { devices } }));
export const rebuild = (id: number, wanted: Schemas["Rebuild"]) => body(api.POST("/compute/instances/{computeId}/rebuild", { params: { ...of(id), header: once() }, body: wanted }));
export const resetPassword = (id: number, password: string) => body(api.POST("/compute/instances/{computeId}/password", { params: of(id), body: { root_pass: password } }));
