import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { instance, instances } from "./queries";

const search = listSearch("tag", "region", "status");

const list = createRoute({
  getParentRoute: () => root,
  path: "/instances",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(instances(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

const create = createRoute({
  getParentRoute: () => root,
  path: "/instances/new",
  component: lazyRouteComponent(() => import("./Create")),
});

const view = createRoute({
  getParentRoute: () => root,
  path: "/instances/$id",
  params: { parse: ({ id }) => ({ id: Number(id) }), stringify: ({ id }) => ({ id: String(id) }) },
  loader: ({ context, params }) => void context.cache.prefetchQuery(instance(params.id)),
  component: lazyRouteComponent(() => import("./Detail")),
});

export const routes = [list, create, view] as const;
