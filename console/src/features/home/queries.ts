/** What the first page counts. */
import { queryOptions } from "@tanstack/react-query";

import { api, BETA, body } from "../../api/client";

/** As many as one answer holds: who has more reads the states of these. */
export const instanceStates = queryOptions({
  queryKey: ["instances", "list", "states"],
  queryFn: () => body(api.GET("/compute/instances", { params: { query: { page_size: 500 } } })),
});

export const maintenance = queryOptions({
  queryKey: ["maintenance", "list", "home"],
  queryFn: () => body(api.GET("/account/maintenance", { ...BETA })),
  refetchInterval: 60_000,
});
