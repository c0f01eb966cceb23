import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { clients, plan } from "./queries";

const list = createRoute({
  getParentRoute: () => root,
  path: "/longview",
  validateSearch: listSearch(),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    void context.cache.prefetchQuery(clients(deps));
    void context.cache.prefetchQuery(plan);
  },
  component: lazyRouteComponent(() => import("./Clients")),
});

export const routes = [list] as const;
