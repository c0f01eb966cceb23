import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { replies, ticketById, tickets } from "./queries";

const search = listSearch("status");

const list = createRoute({
  getParentRoute: () => root,
  path: "/tickets",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(tickets(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

const create = createRoute({
  getParentRoute: () => root,
  path: "/tickets/new",
  component: lazyRouteComponent(() => import("./Create")),
});

const view = createRoute({
  getParentRoute: () => root,
  path: "/tickets/$id",
  params: { parse: ({ id }) => ({ id: Number(id) }), stringify: ({ id }) => ({ id: String(id) }) },
  loader: ({ context, params }) => {
    void context.cache.prefetchQuery(ticketById(params.id));
    void context.cache.prefetchQuery(replies(params.id));
  },
  component: lazyRouteComponent(() => import("./Thread")),
});

export const routes = [list, create, view] as const;
