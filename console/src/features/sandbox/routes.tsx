import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { facts } from "../../facts";
import { root } from "../../root";

const page = createRoute({ getParentRoute: () => root, path: "/sandbox", component: lazyRouteComponent(() => import("./Sandbox")) });

/** Elsewhere there is no such page. */
export const routes = facts.sandbox ? ([page] as const) : ([] as const);
