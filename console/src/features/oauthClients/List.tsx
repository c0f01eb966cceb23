import { Button } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { TwoLines } from "../../ui/Cell";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { Empty, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { type Column, Table } from "../../ui/Table";
import { usePermissions } from "../profile/permissions";
import { type Client, clients } from "./queries";

const route = getRouteApi("/oauth-clients");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/account/oauth-clients --json \'{"label": "my app", "redirect_uri": "https://app.example/back"}\'';
const COLUMNS: Column<Client>[] = [
  {
    key: "label",
    header: "Name",
    sort: "label",
    csv: (client) => client.label,
    cell: (client) => (
      <TwoLines under={client.redirect_uri}>
        <RowLink to={`/oauth-clients/${client.id}`}>{client.label}</RowLink>
      </TwoLines>
    ),
  },
  { key: "id", header: "Client id", phone: "wide", csv: (client) => client.id, cell: (client) => <Copyable text={client.id} what="client id" /> },
  { key: "public", header: "Keeps a secret", csv: (client) => (client.public ? "no" : "yes"), cell: (client) => (client.public ? "no, it is public" : "yes") },
];

export default function List() {
  const search = route.useSearch();
  const query = useQuery({ ...clients(search), placeholderData: keepPreviousData });
  const create = (
    <Disabled reason={usePermissions().account()}>
      <Button component={Link} to="/oauth-clients/new" leftSection={<Icon name="plus" size={16} />}>
        Register an app
      </Button>
    </Disabled>
  );
  return (
    <Page title="OAuth clients" lead="Apps of yours that people sign in to with an account here" actions={create}>
      <Table
        name="OAuth clients"
        columns={COLUMNS}
        query={query}
        rowKey={(client) => client.id}
        rowLabel={(client) => client.label}
        search={search}
        find="Find by name"
        empty={
          <Empty icon="key" title="No apps registered" command={CURL} action={create}>
            Register an app, and its users can let it work with their account without giving it their password.
          </Empty>
        }
      />
    </Page>
  );
}
