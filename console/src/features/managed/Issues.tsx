import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { Ago, Time, TwoLines } from "../../ui/Cell";
import { Empty } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { type Column, Table } from "../../ui/Table";
import { tickets } from "../tickets/queries";
import { Frame } from "./Frame";
import { type Issue, issues, services } from "./queries";

const CURL = 'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4/managed/issues';

export default function Issues() {
  return (
    <Frame>
      <List />
    </Frame>
  );
}

function List() {
  const query = useQuery(issues);
  const names = useQuery(services).data;
  const known = useQuery(tickets()).data;
  const columns = useMemo((): Column<Issue>[] => {
    const labels = new Map((names?.data ?? []).map((service) => [service.id, service.label]));
    const states = new Map((known?.data ?? []).map((ticket) => [ticket.id, ticket.status]));
    const affected = (issue: Issue) => issue.services.map((id) => labels.get(id) ?? `service ${id}, deleted`).join(", ");
    return [
      {
        key: "issue",
        header: "Issue",
        csv: (issue) => issue.entity.label,
        cell: (issue) => (
          <TwoLines under={`Ticket ${issue.entity.id}${states.has(issue.entity.id) ? `, ${states.get(issue.entity.id)}` : ""}`}>
            <RowLink to={`/tickets/${issue.entity.id}`}>{issue.entity.label}</RowLink>
          </TwoLines>
        ),
      },
      { key: "services", header: "Services", csv: affected, cell: affected },
      { key: "created", header: "Found", csv: (issue) => issue.created, cell: (issue) => <TwoLines under={<Time time={issue.created} />}><Ago time={issue.created} /></TwoLines> },
    ];
  }, [names, known]);
  return (
    <Table
      name="issues"
      columns={columns}
      query={query}
      rowKey={(issue) => issue.id}
      rowLabel={(issue) => issue.entity.label}
      empty={
        <Empty icon="check" title="No issue so far" command={CURL}>
          When a service fails, an issue is told here, with the ticket in which it is looked into.
        </Empty>
      }
    />
  );
}
