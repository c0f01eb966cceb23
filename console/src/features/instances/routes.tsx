import { createRoute, lazyRouteComponent } from "@tanstack/react-router";

import { root } from "../../root";
import { listSearch } from "../../ui/search";
import { backups } from "./backupQueries";
import { addresses } from "./networkQueries";
import { instanceById, instances, legacyTypes, types } from "./queries";
import { configs, disks } from "./diskQueries";

const search = listSearch("tag", "region", "status");

const list = createRoute({
  getParentRoute: () => root,
  path: "/instances",
  validateSearch: search,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    // Prices and plans are there before the rows that show them, which are drawn once then.
    for (const catalogue of [types, legacyTypes]) void context.cache.prefetchQuery(catalogue);
    void context.cache.prefetchQuery(instances(deps));
  },
  component: lazyRouteComponent(() => import("./List")),
});

/** What an instance can be made from, chosen on another page: `from` is the number of a backup. */
export interface From {
  from?: number;
  image?: string;
  stackscript?: number;
  region?: string;
  type?: string;
}
const number = (value: unknown) => (Number.isInteger(Number(value)) && Number(value) > 0 ? Number(value) : undefined);
const text = (value: unknown) => (typeof value === "string" && value ? value : undefined);

const create = createRoute({
  getParentRoute: () => root,
  path: "/instances/new",
  validateSearch: (search: Record<string, unknown>): From => {
    const kept: From = { from: number(search.from), image: text(search.image), stackscript: number(search.stackscript), region: text(search.region), type: text(search.type) };
    return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
  },
  component: lazyRouteComponent(() => import("./Create")),
});

const view = createRoute({
  getParentRoute: () => root,
  path: "/instances/$id",
  params: { parse: ({ id }) => ({ id: Number(id) }), stringify: ({ id }) => ({ id: String(id) }) },
  loader: ({ context, params }) => void context.cache.prefetchQuery(instanceById(params.id)),
  component: lazyRouteComponent(() => import("./Detail")),
});

const overview = createRoute({ getParentRoute: () => view, path: "/", component: lazyRouteComponent(() => import("./Overview")) });
const graphs = createRoute({ getParentRoute: () => view, path: "/graphs", component: lazyRouteComponent(() => import("./Graphs")) });
const serial = createRoute({ getParentRoute: () => view, path: "/console", component: lazyRouteComponent(() => import("./SerialConsole")) });
const storage = createRoute({
  getParentRoute: () => view,
  path: "/disks",
  loader: ({ context, params }) => {
    void context.cache.prefetchQuery(disks(params.id));
    void context.cache.prefetchQuery(configs(params.id));
  },
  component: lazyRouteComponent(() => import("./Disks")),
});
const safety = createRoute({
  getParentRoute: () => view,
  path: "/backups",
  loader: ({ context, params }) => void context.cache.prefetchQuery(backups(params.id)),
  component: lazyRouteComponent(() => import("./Backups")),
});
const network = createRoute({
  getParentRoute: () => view,
  path: "/network",
  loader: ({ context, params }) => void context.cache.prefetchQuery(addresses(params.id)),
  component: lazyRouteComponent(() => import("./Network")),
});
const settings = createRoute({ getParentRoute: () => view, path: "/settings", component: lazyRouteComponent(() => import("./Settings")) });

export const routes = [list, create, view.addChildren([overview, graphs, serial, storage, safety, network, settings])] as const;
