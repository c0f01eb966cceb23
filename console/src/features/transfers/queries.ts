/** Questions and orders about transfers of instances between accounts. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, once, type Schemas } from "../../api/client";
import { type ListSearch, pageOf } from "../../ui/search";

export type Transfer = Schemas["TransfersTransferView"];
export type Search = ListSearch;

export const transfers = (search: Search = {}) => queryOptions({ queryKey: ["transfers", "list", search], queryFn: () => body(api.GET("/account/service-transfers", { params: { query: pageOf(search) } })) });

export const create = (computes: number[]) => body(api.POST("/account/service-transfers", { body: { entities: { computes } }, params: { header: once() } }));
export const accept = (token: string) => body(api.POST("/account/service-transfers/{token}/accept", { params: { path: { token } } }));
export const cancel = (token: string) => body(api.DELETE("/account/service-transfers/{token}", { params: { path: { token } } }));
