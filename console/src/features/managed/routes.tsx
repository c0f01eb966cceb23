import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { settings } from "../account/queries";

const services = createRoute({
  getParentRoute: () => root,
  path: "/managed",
  loader: ({ context }) => void context.cache.prefetchQuery(settings),
  component: lazyRouteComponent(() => import("./Services")),
});

const issues = createRoute({ getParentRoute: () => root, path: "/managed/issues", component: lazyRouteComponent(() => import("./Issues")) });
const contacts = createRoute({ getParentRoute: () => root, path: "/managed/contacts", component: lazyRouteComponent(() => import("./Contacts")) });
const credentials = createRoute({ getParentRoute: () => root, path: "/managed/credentials", component: lazyRouteComponent(() => import("./Credentials")) });

export const routes = [services, issues, contacts, credentials] as const;
