/** Every address of the console: each feature names its own in its routes.tsx. A page is loaded when first visited. */
import type { QueryClient } from "@tanstack/react-query";
import { createRouter } from "@tanstack/react-router";

import { routes as account } from "./features/account/routes";
import { routes as billing } from "./features/billing/routes";
import { routes as domains } from "./features/domains/routes";
import { routes as events } from "./features/events/routes";
import { routes as firewalls } from "./features/firewalls/routes";
import { routes as help } from "./features/help/routes";
import { routes as home } from "./features/home/routes";
import { routes as images } from "./features/images/routes";
import { routes as instances } from "./features/instances/routes";
import { routes as longview } from "./features/longview/routes";
import { routes as maintenance } from "./features/maintenance/routes";
import { routes as managed } from "./features/managed/routes";
import { routes as networking } from "./features/networking/routes";
import { routes as nodebalancers } from "./features/nodebalancers/routes";
import { routes as notifications } from "./features/notifications/routes";
import { routes as oauthClients } from "./features/oauthClients/routes";
import { routes as profile } from "./features/profile/routes";
import { routes as sandbox } from "./features/sandbox/routes";
import { routes as stackscripts } from "./features/stackscripts/routes";
import { routes as tags } from "./features/tags/routes";
import { routes as tickets } from "./features/tickets/routes";
import { routes as transfers } from "./features/transfers/routes";
import { routes as users } from "./features/users/routes";
import { routes as volumes } from "./features/volumes/routes";
import { root } from "./root";
import { ErrorMessage, Page } from "./ui/Page";

const tree = root.addChildren([
  ...instances,
  ...home,
  ...events,
  ...account,
  ...billing,
  ...tickets,
  ...managed,
  ...tags,
  ...users,
  ...profile,
  ...oauthClients,
  ...transfers,
  ...maintenance,
  ...notifications,
  ...sandbox,
  ...help,
  ...volumes,
  ...images,
  ...stackscripts,
  ...firewalls,
  ...nodebalancers,
  ...domains,
  ...longview,
  ...networking,
]);

export function makeRouter(cache: QueryClient) {
  return createRouter({
    routeTree: tree,
    basepath: "/console",
    context: { cache },
    defaultPreload: "intent",
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    defaultErrorComponent: ({ error, reset }) => (
      <Page title="Something went wrong">
        <ErrorMessage error={error} again={reset} />
      </Page>
    ),
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
