import { Button } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { TwoLines } from "../../ui/Cell";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { Empty, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { type User, users } from "./queries";

const route = getRouteApi("/users");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/account/users --json \'{"username": "bea", "email": "bea@example.com", "restricted": true}\'';
const COLUMNS: Column<User>[] = [
  {
    key: "username",
    header: "Name",
    sort: "username",
    csv: (user) => user.username,
    cell: (user) => (
      <TwoLines under={user.email}>
        <RowLink to={`/users/${encodeURIComponent(user.username)}`}>{user.username}</RowLink>
      </TwoLines>
    ),
  },
  { key: "restricted", header: "May", phone: "wide", csv: (user) => (user.restricted ? "restricted" : "everything"), cell: (user) => (user.restricted ? "What the grants say" : "Everything") },
  { key: "tfa", header: "Two-factor", csv: (user) => (user.tfa_enabled ? "on" : "off"), cell: (user) => (user.tfa_enabled ? "on" : <span className="quiet">off</span>) },
  { key: "keys", header: "SSH keys", phone: "hide", align: "right", csv: (user) => user.ssh_keys.length, cell: (user) => user.ssh_keys.length },
];

export default function List() {
  const search = route.useSearch();
  const query = useQuery({ ...users(search), placeholderData: keepPreviousData });
  const permissions = usePermissions();
  const invite = (
    <Disabled reason={permissions.account()}>
      <Button component={Link} to="/users/new" leftSection={<Icon name="plus" size={16} />}>
        Invite somebody
      </Button>
    </Disabled>
  );
  return (
    <Page title="Users" lead={query.data && count(query.data.results, "person", "people")} actions={invite}>
      <Table
        name="users"
        columns={COLUMNS}
        query={query}
        rowKey={(user) => user.username}
        rowLabel={(user) => user.username}
        search={search}
        find="Find by name"
        empty={
          <Empty icon="people" title="Nobody else yet" command={CURL} action={invite}>
            People whom you invite get a link by e-mail to set a password. You choose what each may see and change.
          </Empty>
        }
      />
    </Page>
  );
}
