import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { volumes } from "./queries";

const search = listSearch("tag");

const list = createRoute({
  getParentRoute: () => root,
  path: "/volumes",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(volumes(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

const create = createRoute({
  getParentRoute: () => root,
  path: "/volumes/new",
  component: lazyRouteComponent(() => import("./Create")),
});

export const routes = [list, create] as const;
