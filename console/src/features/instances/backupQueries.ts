/** Questions and orders about the backups of an instance. */
import { queryOptions } from "@tanstack/react-query";

import { api, ASK_FIRST, body, once, planned, type Schemas } from "../../api/client";

export type Backup = Schemas["BackupView"];

const of = (computeId: number) => ({ path: { computeId } });

export const backups = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "backups"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/backups", { params: of(id) })),
  });

export const enable = (id: number) => body(api.POST("/compute/instances/{computeId}/backups/enable", { params: of(id) }));
export const enabling = (id: number) =>
  queryOptions({
    queryKey: ["plan", "instances", "backups", id],
    queryFn: () => planned(api.POST("/compute/instances/{computeId}/backups/enable", { params: { ...of(id), header: ASK_FIRST } })),
  });

export const cancel = (id: number) => body(api.POST("/compute/instances/{computeId}/backups/cancel", { params: of(id) }));
export const snapshot = (id: number, label: string) => body(api.POST("/compute/instances/{computeId}/backups", { params: { ...of(id), header: once() }, body: { label } }));

type Restore = Schemas["Restore"];
const path = (id: number, backup: number) => ({ computeId: id, backupId: backup });
export const restore = (id: number, backup: number, wanted: Restore) =>
  body(api.POST("/compute/instances/{computeId}/backups/{backupId}/restore", { params: { path: path(id, backup) }, body: wanted }));
export const restoring = (id: number, backup: number, wanted: Restore) =>
  queryOptions({
    queryKey: ["plan", "instances", "restore", id, backup, wanted],
    queryFn: () => planned(api.POST("/compute/instances/{computeId}/backups/{backupId}/restore", { params: { path: path(id, backup), header: ASK_FIRST }, body: wanted })),
  });
