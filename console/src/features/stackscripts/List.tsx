import { Button, SegmentedControl } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { Ago, TwoLines } from "../../ui/Cell";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { Empty, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { type StackScript, stackscripts } from "./queries";

const route = getRouteApi("/stackscripts");
const CURL = "curl -H \"Authorization: Bearer $TOKEN\" \\\n  $CROFTER/v4/compute/stackscripts --json '{\"label\": \"setup\", \"images\": [\"any/all\"], \"script\": \"#!/bin/sh\"}'";
const KINDS = [
  { value: "mine", label: "Yours" },
  { value: "community", label: "Community" },
];

export default function List() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery({ ...stackscripts(search), placeholderData: keepPreviousData });
  const permissions = usePermissions();
  const community = search.kind === "community";
  const kinds = (
    <SegmentedControl aria-label="Whose scripts" data={KINDS} value={community ? "community" : "mine"} onChange={(kind) => void navigate({ search: kind === "community" ? { kind } : {}, replace: true })} />
  );
  const create = (
    <Disabled reason={permissions.create("add_stackscripts")}>
      <Button component={Link} to="/stackscripts/new" leftSection={<Icon name="plus" size={16} />}>
        Create StackScript
      </Button>
    </Disabled>
  );
  return (
    <Page title="StackScripts" wide lead={query.data && (community ? `${count(query.data.results, "script")} that anyone may use` : `${count(query.data.results, "script")} of yours`)} actions={create}>
      <Table
        name="scripts"
        columns={COLUMNS}
        query={query}
        rowKey={(script) => script.id}
        rowLabel={(script) => script.label}
        search={search}
        find="Find by name or description"
        filters={kinds}
        filtered={community}
        empty={
          <>
            <div style={{ padding: "var(--space-3) var(--space-4) 0" }}>{kinds}</div>
            <Empty icon="script" title="No StackScripts yet" command={CURL} action={create}>
              A StackScript runs when an instance boots for the first time, and sets it up as you want it, with the values that it asks for.
            </Empty>
          </>
        }
      />
    </Page>
  );
}

const COLUMNS: Column<StackScript>[] = [
  {
    key: "label",
    header: "Name",
    sort: "label",
    csv: (script) => script.label,
    cell: (script) => (
      <TwoLines under={script.description.split("\n")[0] || "no description"}>
        <RowLink to={`/stackscripts/${script.id}`}>{script.label}</RowLink>
      </TwoLines>
    ),
  },
  { key: "username", header: "By", phone: "hide", csv: (script) => script.username, cell: (script) => script.username },
  { key: "images", header: "Runs on", phone: "hide", csv: (script) => script.images.join(" "), cell: (script) => (script.images.includes("any/all") ? "any image" : count(script.images.length, "image")) },
  { key: "fields", header: "Asks for", phone: "hide", csv: (script) => script.user_defined_fields.length, cell: (script) => (script.user_defined_fields.length ? count(script.user_defined_fields.length, "value") : "nothing") },
  {
    key: "deployments",
    header: "Deployed",
    sort: "deployments_total",
    align: "right",
    csv: (script) => script.deployments_total,
    cell: (script) => <TwoLines under={`${script.deployments_active} running`}>{script.deployments_total}</TwoLines>,
  },
  { key: "public", header: "Seen by", csv: (script) => (script.is_public ? "public" : "private"), cell: (script) => (script.is_public ? "everyone" : "your account") },
  { key: "updated", header: "Changed", phone: "hide", csv: (script) => script.updated, cell: (script) => <TwoLines under={script.rev_note}><Ago time={script.updated} /></TwoLines> },
];
