import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { domainById, domains, records } from "./queries";

const search = listSearch("tag");
const number = { parse: ({ id }: { id: string }) => ({ id: Number(id) }), stringify: ({ id }: { id: number }) => ({ id: String(id) }) };
const detail = lazyRouteComponent(() => import("./Detail"));

const list = createRoute({
  getParentRoute: () => root,
  path: "/domains",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(domains(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

const create = createRoute({ getParentRoute: () => root, path: "/domains/new", component: lazyRouteComponent(() => import("./Create")) });

const view = createRoute({
  getParentRoute: () => root,
  path: "/domains/$id",
  params: number,
  loader: ({ context, params }) => {
    void context.cache.prefetchQuery(domainById(params.id));
    void context.cache.prefetchQuery(records(params.id));
  },
  component: detail,
});
const zone = createRoute({ getParentRoute: () => root, path: "/domains/$id/zone", params: number, component: detail });
const settings = createRoute({ getParentRoute: () => root, path: "/domains/$id/settings", params: number, component: detail });

export const routes = [list, create, view, zone, settings] as const;
