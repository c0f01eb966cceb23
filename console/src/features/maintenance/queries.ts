/** Questions about maintenance. */
import { queryOptions } from "@tanstack/react-query";

import { api, BETA, body, filter, type Schemas } from "../../api/client";
import { type ListSearch, orderOf, pageOf } from "../../ui/search";

export type Maintenance = Schemas["MaintenanceView"];
export type Search = ListSearch;

export const maintenance = (search: Search = {}) =>
  queryOptions({
    queryKey: ["maintenance", "list", search],
    queryFn: () => body(api.GET("/account/maintenance", { ...BETA, params: { query: pageOf(search), header: filter(orderOf(search.order)) } })),
  });
