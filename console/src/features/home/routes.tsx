import { createRoute, redirect } from "@tanstack/react-router";

import { root } from "../../root";

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/instances", search: {} });
  },
});

export const routes = [home] as const;
