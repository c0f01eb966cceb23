/** Questions and orders about the addresses of an instance, and what stands in front of it. */
import { queryOptions } from "@tanstack/react-query";

import { api, ASK_FIRST, body, once, planned, type Schemas } from "../../api/client";

export type Address = Schemas["IpView"];

const of = (computeId: number) => ({ path: { computeId } });
const ofAddress = (computeId: number, address: string) => ({ path: { computeId, address } });

export const addresses = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "ips"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/ips", { params: of(id) })),
  });

export const firewallsOf = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "firewalls"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/firewalls", { params: of(id) })),
  });

export const balancersOf = (id: number) =>
  queryOptions({
    queryKey: ["instances", "one", id, "nodebalancers"],
    queryFn: () => body(api.GET("/compute/instances/{computeId}/nodebalancers", { params: of(id) })),
  });

export const allocate = (id: number, isPublic: boolean) => body(api.POST("/compute/instances/{computeId}/ips", { params: { ...of(id), header: once() }, body: { type: "ipv4", public: isPublic } }));
export const allocating = (id: number, isPublic: boolean) =>
  queryOptions({
    queryKey: ["plan", "instances", "ips", id, isPublic],
    queryFn: () => planned(api.POST("/compute/instances/{computeId}/ips", { params: { ...of(id), header: ASK_FIRST }, body: { type: "ipv4", public: isPublic } })),
  });

export const setReverse = (id: number, address: string, rdns: string | null) => body(api.PUT("/compute/instances/{computeId}/ips/{address}", { params: ofAddress(id, address), body: { rdns } }));
export const release = (id: number, address: string) => body(api.DELETE("/compute/instances/{computeId}/ips/{address}", { params: ofAddress(id, address) }));
