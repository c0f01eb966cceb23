/** The route that all others hang from: the shell around every page. */
import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext } from "@tanstack/react-router";

import { Shell } from "./shell/Shell";
import { ErrorMessage, Page } from "./ui/Page";

export const root = createRootRouteWithContext<{ cache: QueryClient }>()({
  component: Shell,
  notFoundComponent: () => (
    <Page title="Not found">
      <ErrorMessage error={new Error("There is no page at this address.")} />
    </Page>
  ),
});
