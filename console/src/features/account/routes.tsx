import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { account, settings } from "./queries";

const view = createRoute({
  getParentRoute: () => root,
  path: "/account",
  loader: ({ context }) => {
    void context.cache.prefetchQuery(account);
    void context.cache.prefetchQuery(settings);
  },
  component: lazyRouteComponent(() => import("./Account")),
});

export const routes = [view] as const;
