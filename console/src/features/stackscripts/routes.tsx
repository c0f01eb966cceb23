import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { stackscriptById, stackscripts } from "./queries";

const search = listSearch("kind");
const number = { parse: ({ id }: { id: string }) => ({ id: Number(id) }), stringify: ({ id }: { id: number }) => ({ id: String(id) }) };

const list = createRoute({
  getParentRoute: () => root,
  path: "/stackscripts",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(stackscripts(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

const create = createRoute({
  getParentRoute: () => root,
  path: "/stackscripts/new",
  component: lazyRouteComponent(() => import("./Edit")),
});

const view = createRoute({
  getParentRoute: () => root,
  path: "/stackscripts/$id",
  params: number,
  loader: ({ context, params }) => void context.cache.prefetchQuery(stackscriptById(params.id)),
  component: lazyRouteComponent(() => import("./Detail")),
});

const edit = createRoute({
  getParentRoute: () => root,
  path: "/stackscripts/$id/edit",
  params: number,
  component: lazyRouteComponent(() => import("./Edit")),
});

export const routes = [list, create, view, edit] as const;
