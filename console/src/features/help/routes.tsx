import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";

const view = createRoute({ getParentRoute: () => root, path: "/help", component: lazyRouteComponent(() => import("./Help")) });

export const routes = [view] as const;
