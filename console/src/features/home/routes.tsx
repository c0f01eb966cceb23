import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { instanceStates } from "./queries";

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  loader: ({ context }) => void context.cache.prefetchQuery(instanceStates),
  component: lazyRouteComponent(() => import("./Home")),
});

export const routes = [home] as const;
