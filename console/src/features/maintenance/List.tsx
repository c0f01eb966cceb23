import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import { Ago, Time, TwoLines } from "../../ui/Cell";
import { Empty, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import { words } from "../../ui/words";
import { type Maintenance, maintenance } from "./queries";

const route = getRouteApi("/maintenance");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4beta/account/maintenance';

export default function List() {
  const search = route.useSearch();
  const query = useQuery({ ...maintenance(search), placeholderData: keepPreviousData });
  return (
    <Page title="Maintenance" lead="What is going to be done to the machines that your instances run on">
      <Table
        name="maintenance"
        columns={COLUMNS}
        query={query}
        rowKey={(entry) => `${entry.entity.type} ${entry.entity.id} ${entry.when}`}
        rowLabel={(entry) => entry.entity.label}
        search={search}
        empty={
          <Empty icon="wrench" title="No maintenance is planned" command={CURL}>
            If one of your instances is to be moved or booted again, it is announced here and by mail.
          </Empty>
        }
      />
    </Page>
  );
}

const COLUMNS: Column<Maintenance>[] = [
  {
    key: "entity",
    header: "Instance",
    csv: (entry) => entry.entity.label,
    cell: (entry) => (
      <TwoLines under={entry.reason}>
        {entry.entity.type === "compute" ? (
          <RowLink to={`/instances/${entry.entity.id}`}>{entry.entity.label}</RowLink>
        ) : (
          entry.entity.label
        )}
      </TwoLines>
    ),
  },
  { key: "type", header: "What", sort: "type", csv: (entry) => entry.type, cell: (entry) => words(entry.type) },
  { key: "status", header: "Status", sort: "status", csv: (entry) => entry.status, cell: (entry) => <Status status={entry.status} /> },
  {
    key: "when",
    header: "When",
    sort: "when",
    csv: (entry) => entry.when,
    cell: (entry) => (
      <TwoLines under={<Ago time={entry.when} />}>
        <Time time={entry.when} />
      </TwoLines>
    ),
  },
];
