import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { devices, firewallById, firewalls } from "./queries";

const search = listSearch("tag");
const number = { parse: ({ id }: { id: string }) => ({ id: Number(id) }), stringify: ({ id }: { id: number }) => ({ id: String(id) }) };

const list = createRoute({
  getParentRoute: () => root,
  path: "/firewalls",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(firewalls(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

const create = createRoute({
  getParentRoute: () => root,
  path: "/firewalls/new",
  component: lazyRouteComponent(() => import("./Create")),
});

const view = createRoute({
  getParentRoute: () => root,
  path: "/firewalls/$id",
  params: number,
  loader: ({ context, params }) => void context.cache.prefetchQuery(firewallById(params.id)),
  component: lazyRouteComponent(() => import("./Detail")),
});

const guarded = createRoute({
  getParentRoute: () => root,
  path: "/firewalls/$id/devices",
  params: number,
  loader: ({ context, params }) => void context.cache.prefetchQuery(devices(params.id)),
  component: lazyRouteComponent(() => import("./Detail")),
});

export const routes = [list, create, view, guarded] as const;
