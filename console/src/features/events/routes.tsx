import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import type { Search } from "./matching";
import { events } from "./queries";

const text = (value: unknown) => (typeof value === "string" && value) || undefined;

const list = createRoute({
  getParentRoute: () => root,
  path: "/events",
  validateSearch: (search: Record<string, unknown>): Search => ({ actor: text(search.actor), entity: text(search.entity), action: text(search.action) }),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchInfiniteQuery(events(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

export const routes = [list] as const;
