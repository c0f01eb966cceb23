/** Questions and orders about domains and their records. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, body, filter, once, type Schemas } from "../../api/client";
import { listCall, type ListSearch } from "../../ui/search";

export type Domain = Schemas["DomainView"];
export type DnsRecord = Schemas["RecordView"];
export type Search = ListSearch<"tag">;
const path = (id: number) => ({ path: { domainId: id } });

export const domains = (search: Search = {}) =>
  queryOptions({
    queryKey: ["domains", "list", search],
    queryFn: () => body(api.GET("/domains", { params: listCall(search, ["domain", "tags"]) })),
    placeholderData: keepPreviousData,
  });

export const domainById = (id: number) => queryOptions({ queryKey: ["domains", "one", id, "view"], queryFn: () => body(api.GET("/domains/{domainId}", { params: path(id) })) });

export const records = (id: number) =>
  queryOptions({
    queryKey: ["domains", "one", id, "records"],
    queryFn: () => body(api.GET("/domains/{domainId}/records", { params: { ...path(id), query: { page_size: 500 }, header: filter({ "+order_by": "type" }) } })),
  });

export const zoneFile = (id: number) => queryOptions({ queryKey: ["domains", "one", id, "zone"], queryFn: () => body(api.GET("/domains/{domainId}/zone-file", { params: path(id) })) });

export const create = (wanted: Schemas["DomainCreate"]) => body(api.POST("/domains", { body: wanted, params: { header: once() } }));
export const importZone = (wanted: Schemas["DomainImport"]) => body(api.POST("/domains/import", { body: wanted, params: { header: once() } }));
export const update = (id: number, change: Schemas["DomainUpdate"]) => body(api.PUT("/domains/{domainId}", { params: path(id), body: change }));
export const clone = (id: number, name: string) => body(api.POST("/domains/{domainId}/clone", { params: { ...path(id), header: once() }, body: { domain: name } }));
export const remove = (id: number) => body(api.DELETE("/domains/{domainId}", { params: path(id) }));

const recordPath = (id: number, recordId: number) => ({ path: { domainId: id, recordId } });
export const createRecord = (id: number, wanted: Schemas["RecordCreate"]) => body(api.POST("/domains/{domainId}/records", { params: { ...path(id), header: once() }, body: wanted }));
export const updateRecord = (id: number, recordId: number, change: Schemas["RecordUpdate"]) => body(api.PUT("/domains/{domainId}/records/{recordId}", { params: recordPath(id, recordId), body: change }));
export const removeRecord = (id: number, recordId: number) => body(api.DELETE("/domains/{domainId}/records/{recordId}", { params: recordPath(id, recordId) }));
