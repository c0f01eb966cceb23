import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { account, cost } from "../account/queries";
import { invoiceById, invoices, items, methods, payments } from "./queries";

const search = listSearch();
const id = { parse: ({ id }: { id: string }) => ({ id: Number(id) }), stringify: ({ id }: { id: number }) => ({ id: String(id) }) };

const overview = createRoute({
  getParentRoute: () => root,
  path: "/billing",
  loader: ({ context }) => {
    void context.cache.prefetchQuery(account);
    void context.cache.prefetchQuery(cost);
  },
  component: lazyRouteComponent(() => import("./Overview")),
});

const listed = createRoute({
  getParentRoute: () => root,
  path: "/billing/invoices",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(invoices(deps)),
  component: lazyRouteComponent(() => import("./Invoices")),
});

const view = createRoute({
  getParentRoute: () => root,
  path: "/billing/invoices/$id",
  params: id,
  loader: ({ context, params }) => {
    void context.cache.prefetchQuery(invoiceById(params.id));
    void context.cache.prefetchQuery(items(params.id));
  },
  component: lazyRouteComponent(() => import("./Invoice")),
});

const paid = createRoute({
  getParentRoute: () => root,
  path: "/billing/payments",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    void context.cache.prefetchQuery(payments(deps));
    void context.cache.prefetchQuery(methods);
  },
  component: lazyRouteComponent(() => import("./Payments")),
});

export const routes = [overview, listed, view, paid] as const;
