import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { transfers } from "./queries";

const search = listSearch();

const list = createRoute({
  getParentRoute: () => root,
  path: "/transfers",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(transfers(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

export const routes = [list] as const;
