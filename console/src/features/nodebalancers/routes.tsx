import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { balancerById, balancers, configs } from "./queries";

const search = listSearch("tag");
const number = { parse: ({ id }: { id: string }) => ({ id: Number(id) }), stringify: ({ id }: { id: number }) => ({ id: String(id) }) };
const detail = lazyRouteComponent(() => import("./Detail"));

const list = createRoute({
  getParentRoute: () => root,
  path: "/nodebalancers",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(balancers(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

const create = createRoute({ getParentRoute: () => root, path: "/nodebalancers/new", component: lazyRouteComponent(() => import("./Create")) });

const view = createRoute({
  getParentRoute: () => root,
  path: "/nodebalancers/$id",
  params: number,
  loader: ({ context, params }) => {
    void context.cache.prefetchQuery(balancerById(params.id));
    void context.cache.prefetchQuery(configs(params.id));
  },
  component: detail,
});
const graphs = createRoute({ getParentRoute: () => root, path: "/nodebalancers/$id/graphs", params: number, component: detail });
const settings = createRoute({ getParentRoute: () => root, path: "/nodebalancers/$id/settings", params: number, component: detail });

export const routes = [list, create, view, graphs, settings] as const;
