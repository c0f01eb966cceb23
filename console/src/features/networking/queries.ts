/** Questions and orders about the addresses of the account. */
import { queryOptions } from "@tanstack/react-query";

import { api, BETA, body, filter, once, type Schemas } from "../../api/client";
import { type ListSearch, orderOf, pageOf } from "../../ui/search";

export type Address = Schemas["IpView"];
export type Range = Schemas["RangeView"];
export type Vlan = Schemas["VlanView"];
export type Search = ListSearch;

export const addresses = (search: Search = {}) =>
  queryOptions({
    queryKey: ["networking", "ips", search],
    queryFn: () => body(api.GET("/networking/ips", { params: { query: pageOf(search), header: filter(orderOf(search.order)) } })),
  });
export const ranges = queryOptions({ queryKey: ["networking", "ranges"], queryFn: () => body(api.GET("/networking/ipv6/ranges", { params: { query: { page_size: 500 } } })) });
export const vlans = queryOptions({ queryKey: ["networking", "vlans"], queryFn: () => body(api.GET("/networking/vlans", { ...BETA, params: { query: { page_size: 500 } } })) });

export const setName = (address: string, rdns: string | null) => body(api.PUT("/networking/ips/{address}", { params: { path: { address } }, body: { rdns } }));
export const assign = (region: string, address: string, computeId: number) => body(api.POST("/networking/ips/assign", { body: { region, assignments: [{ address, compute_id: computeId }] } }));

/** Let an instance answer for an address too. The order names all that are shared with it, so those come first. */
export async function share(address: string, computeId: number): Promise<unknown> {
  const { ipv4 } = await body(api.GET("/compute/instances/{computeId}/ips", { params: { path: { computeId } } }));
  const ips = [...new Set([...ipv4.shared.map((shared) => shared.address), address])];
  return body(api.POST("/networking/ips/share", { body: { compute_id: computeId, ips } }));
}

export const createRange = (wanted: Schemas["RangeCreate"]) => body(api.POST("/networking/ipv6/ranges", { body: wanted, params: { header: once() } }));
export const removeRange = (range: string) => body(api.DELETE("/networking/ipv6/ranges/{range}", { params: { path: { range } } }));
