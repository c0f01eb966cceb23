import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";

const you = createRoute({ getParentRoute: () => root, path: "/profile", component: lazyRouteComponent(() => import("./You")) });
const tokens = createRoute({ getParentRoute: () => root, path: "/profile/tokens", component: lazyRouteComponent(() => import("./Tokens")) });
const keys = createRoute({ getParentRoute: () => root, path: "/profile/keys", component: lazyRouteComponent(() => import("./Keys")) });
const twoFactor = createRoute({ getParentRoute: () => root, path: "/profile/two-factor", component: lazyRouteComponent(() => import("./TwoFactor")) });
const apps = createRoute({ getParentRoute: () => root, path: "/profile/apps", component: lazyRouteComponent(() => import("./Apps")) });
const devices = createRoute({ getParentRoute: () => root, path: "/profile/devices", component: lazyRouteComponent(() => import("./Devices")) });

export const routes = [you, tokens, keys, twoFactor, apps, devices] as const;
