/** Questions and orders about the disks and configurations of an instance. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";

export type Disk = Schemas["DiskView"];
export type Config = Omit<Schemas["ConfigView"], "initrd">;
export type Slot = keyof Schemas["DevicesView"];
export const SLOTS = ["sda", "sdb", "sdc", "sdd", "sde", "sdf", "sdg", "sdh"] as const satisfies readonly Slot[];
export const FILESYSTEMS = ["ext4", "ext3", "swap", "raw", "initrd"] as const;

const of = (computeId: number) => ({ path: { computeId } });
const ofDisk = (computeId: number, diskId: number) => ({ path: { computeId, diskId } });
const ofConfig = (computeId: number, configId: number) => ({ path: { computeId, configId } });
const all = { page_size: 500 };

export const disks = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "disks"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/disks", { params: { ...of(id), query: all } })),
  });

export const configs = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "configs"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/configs", { params: { ...of(id), query: all } })),
  });

export const volumesOf = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "volumes"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/volumes", { params: { ...of(id), query: all } })),
  });

export const kernels = queryOptions({
  queryKey: ["catalogue", "kernels"],
  queryFn: () => body(api.GET("/compute/kernels", { params: { query: all } })),
  staleTime: Number.POSITIVE_INFINITY,
});

export const addDisk = (id: number, wanted: Schemas["DiskCreate"]) => body(api.POST("/compute/instances/{computeId}/disks", { params: { ...of(id), header: once() }, body: wanted }));
export const updateDisk = (id: number, disk: number, change: Schemas["DiskUpdate"]) => body(api.PUT("/compute/instances/{computeId}/disks/{diskId}", { params: ofDisk(id, disk), body: change }));
export const resizeDisk = (id: number, disk: number, size: number) => body(api.POST("/compute/instances/{computeId}/disks/{diskId}/resize", { params: ofDisk(id, disk), body: { size } }));
export const cloneDisk = (id: number, disk: number) => body(api.POST("/compute/instances/{computeId}/disks/{diskId}/clone", { params: { ...ofDisk(id, disk), header: once() } }));
export const resetDiskPassword = (id: number, disk: number, password: string) => body(api.POST("/compute/instances/{computeId}/disks/{diskId}/password", { params: ofDisk(id, disk), body: { password } }));
export const removeDisk = (id: number, disk: number) => body(api.DELETE("/compute/instances/{computeId}/disks/{diskId}", { params: ofDisk(id, disk) }));

export const addConfig = (id: number, wanted: Schemas["ConfigCreate"]) => body(api.POST("/compute/instances/{computeId}/configs", { params: { ...of(id), header: once() }, body: wanted }));
export const updateConfig = (id: number, config: number, change: Schemas["ConfigUpdate"]) => body(api.PUT("/compute/instances/{computeId}/configs/{configId}", { params: ofConfig(id, config), body: change }));
export const removeConfig = (id: number, config: number) => body(api.DELETE("/compute/instances/{computeId}/configs/{configId}", { params: ofConfig(id, config) }));

/** Where a disk is used: `My profile as sda`. */
export function usesOf(disk: Disk, among: readonly Config[]): { config: Config; slot: Slot }[] {
  return among.flatMap((config) => SLOTS.filter((slot) => config.devices[slot]?.disk_id === disk.id).map((slot) => ({ config, slot })));
}
