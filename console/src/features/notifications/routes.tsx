import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { notifications } from "./queries";

const list = createRoute({
  getParentRoute: () => root,
  path: "/notifications",
  loader: ({ context }) => void context.cache.prefetchQuery(notifications),
  component: lazyRouteComponent(() => import("./List")),
});

export const routes = [list] as const;
