import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { Ago, Time, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Empty } from "../../ui/Page";
import { type Column, Table } from "../../ui/Table";
import { Frame } from "./Frame";
import { type App, apps, revokeApp } from "./queries";
import { Sentences } from "./Tokens";

const COLUMNS: Column<App>[] = [
  { key: "label", header: "App", csv: (app) => app.label, cell: (app) => <TwoLines under={app.website}><strong>{app.label}</strong></TwoLines> },
  { key: "scopes", header: "May", phone: "wide", csv: (app) => app.scopes, cell: (app) => <Sentences scopes={app.scopes} /> },
  { key: "created", header: "Allowed", phone: "hide", csv: (app) => app.created, cell: (app) => <Ago time={app.created} /> },
  { key: "expiry", header: "Ends", csv: (app) => app.expiry, cell: (app) => (app.expiry ? <Time time={app.expiry} /> : "never") },
];

export default function Apps() {
  const cache = useQueryClient();
  const query = useQuery(apps);
  const [toRemove, setToRemove] = useState<App | null>(null);
  const actions = useMemo(
    () => (app: App) => (
      <Button variant="subtle" color="red.8" size="compact-sm" onClick={() => setToRemove(app)} aria-label={`Revoke ${app.label}`}>
        Revoke
      </Button>
    ),
    [],
  );
  return (
    <Frame>
      <Table
        name="apps"
        columns={COLUMNS}
        query={query}
        rowKey={(app) => app.id}
        rowLabel={(app) => app.label}
        actions={actions}
        empty={
          <Empty icon="link" title="No apps use your account">
            When you sign in to something with this account and allow it, it is listed here, with what it may do and a way to end that.
          </Empty>
        }
      />
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Revoke"
          label={toRemove.label}
          lost={<p>All tokens that it holds end at once. It can ask you again.</p>}
          onConfirm={async () => {
            await revokeApp(toRemove.id);
            await cache.invalidateQueries({ queryKey: ["profile", "apps"] });
          }}
        />
      )}
    </Frame>
  );
}
