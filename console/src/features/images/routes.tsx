import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { images } from "./queries";

const search = listSearch("kind");

const list = createRoute({
  getParentRoute: () => root,
  path: "/images",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => void context.cache.prefetchQuery(images(deps)),
  component: lazyRouteComponent(() => import("./List")),
});

const create = createRoute({
  getParentRoute: () => root,
  path: "/images/new",
  component: lazyRouteComponent(() => import("./Create")),
});

const upload = createRoute({
  getParentRoute: () => root,
  path: "/images/upload",
  component: lazyRouteComponent(() => import("./Upload")),
});

export const routes = [list, create, upload] as const;
