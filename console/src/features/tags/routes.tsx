import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { tagged, tags } from "./queries";

const search = listSearch();

const list = createRoute({
  getParentRoute: () => root,
  path: "/tags",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(tags(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

const view = createRoute({
  getParentRoute: () => root,
  path: "/tags/$label",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, params, deps }) => void context.cache.prefetchQuery(tagged(params.label, deps)),
  component: lazyRouteComponent(() => import("./Detail")),
});

export const routes = [list, view] as const;
