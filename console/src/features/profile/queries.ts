/** Who is signed in, and what their grants allow. */
import { queryOptions } from "@tanstack/react-query";

import { api, body } from "../../api/client";

export const profile = queryOptions({ queryKey: ["profile", "view"], queryFn: () => body(api.GET("/profile")) });

/** Of a restricted user; an unrestricted one has no grants, and may do everything: null. */
export const grants = queryOptions({
  queryKey: ["profile", "grants"],
  queryFn: async () => (await body(api.GET("/profile/grants"))) ?? null,
});
