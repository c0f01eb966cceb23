import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { userByName, users } from "./queries";

const list = createRoute({
  getParentRoute: () => root,
  path: "/users",
  validateSearch: listSearch(),
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(users(deps)),
  component: lazyRouteComponent(() => import("./List")),
});
const invite = createRoute({ getParentRoute: () => root, path: "/users/new", component: lazyRouteComponent(() => import("./Invite")) });
const view = createRoute({
  getParentRoute: () => root,
  path: "/users/$name",
  loader: ({ context, params }) => void context.cache.prefetchQuery(userByName(params.name)),
  component: lazyRouteComponent(() => import("./Detail")),
});

export const routes = [list, invite, view] as const;
