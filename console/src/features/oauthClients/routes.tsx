import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { clientById, clients } from "./queries";

const list = createRoute({
  getParentRoute: () => root,
  path: "/oauth-clients",
  validateSearch: listSearch(),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(clients(deps)),
  component: lazyRouteComponent(() => import("./List")),
});
const create = createRoute({ getParentRoute: () => root, path: "/oauth-clients/new", component: lazyRouteComponent(() => import("./Create")) });
const view = createRoute({
  getParentRoute: () => root,
  path: "/oauth-clients/$id",
  loader: ({ context, params }) => void context.cache.prefetchQuery(clientById(params.id)),
  component: lazyRouteComponent(() => import("./Detail")),
});

export const routes = [list, create, view] as const;
