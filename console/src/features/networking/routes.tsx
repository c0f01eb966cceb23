import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { addresses } from "./queries";

const search = listSearch();

const list = createRoute({
  getParentRoute: () => root,
  path: "/networking",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(addresses(deps)),
  component: lazyRouteComponent(() => import("./List")),
});
const ranges = createRoute({ getParentRoute: () => root, path: "/networking/ranges", component: lazyRouteComponent(() => import("./Ranges")) });
const vlans = createRoute({ getParentRoute: () => root, path: "/networking/vlans", component: lazyRouteComponent(() => import("./Vlans")) });

export const routes = [list, ranges, vlans] as const;
