import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { maintenance } from "./queries";

const search = listSearch();

const list = createRoute({
  getParentRoute: () => root,
  path: "/maintenance",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(maintenance(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

export const routes = [list] as const;
