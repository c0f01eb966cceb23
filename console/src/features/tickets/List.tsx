import { Button, SegmentedControl } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { Ago, TwoLines } from "../../ui/Cell";
import { Icon } from "../../ui/Icon";
import { Empty, Page } from "../../ui/Page";
import { placeOf } from "../../ui/places";
import { RowLink } from "../../ui/RowLink";
import { type Column, Table } from "../../ui/Table";
import { isOpen, type Ticket, tickets } from "./queries";
import css from "./Tickets.module.css";

const route = getRouteApi("/tickets");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/support/tickets --json \'{"summary": "…", "description": "…"}\'';
const STATES = [
  { value: "", label: "All" },
  { value: "open", label: "Open" },
  { value: "closed", label: "Closed" },
];

export function State({ ticket }: { ticket: Ticket }) {
  return (
    <span className={css.state} data-open={isOpen(ticket) || undefined}>
      <Icon name={isOpen(ticket) ? "ticket" : "check"} size={14} /> {ticket.status === "new" ? "New" : isOpen(ticket) ? "Open" : "Closed"}
    </span>
  );
}

const COLUMNS: Column<Ticket>[] = [
  {
    key: "summary",
    header: "Ticket",
    csv: (ticket) => ticket.summary,
    cell: (ticket) => (
      <TwoLines under={`${ticket.id}, opened by ${ticket.opened_by}`}>
        <RowLink to={`/tickets/${ticket.id}`}>{ticket.summary}</RowLink>
      </TwoLines>
    ),
  },
  { key: "status", header: "State", width: 120, csv: (ticket) => ticket.status, cell: (ticket) => <State ticket={ticket} /> },
  { key: "entity", header: "About", phone: "hide", csv: (ticket) => ticket.entity?.label, cell: (ticket) => <About ticket={ticket} /> },
  { key: "opened", header: "Opened", sort: "opened", phone: "hide", csv: (ticket) => ticket.opened, cell: (ticket) => <Ago time={ticket.opened} /> },
  { key: "updated", header: "Last written", sort: "updated", csv: (ticket) => ticket.updated, cell: (ticket) => <TwoLines under={ticket.updated_by ?? ""}><Ago time={ticket.updated} /></TwoLines> },
];

function About({ ticket }: { ticket: Ticket }) {
  const place = placeOf(ticket.entity);
  if (!ticket.entity) return <span className="quiet">–</span>;
  return place ? <RowLink to={place}>{ticket.entity.label}</RowLink> : <>{ticket.entity.label}</>;
}

export default function List() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery({ ...tickets(search), placeholderData: keepPreviousData });
  const open = (query.data?.data ?? []).filter(isOpen).length;
  const create = (
    <Button component={Link} to="/tickets/new" leftSection={<Icon name="plus" size={16} />}>
      Open a ticket
    </Button>
  );
  return (
    <Page title="Tickets" wide lead={query.data && search.status !== "closed" && (open > 0 ? `${open} open` : "None is open")} actions={create}>
      <Table
        name="tickets"
        columns={COLUMNS}
        query={query}
        rowKey={(ticket) => ticket.id}
        rowLabel={(ticket) => ticket.summary}
        search={search}
        filtered={Boolean(search.status)}
        filters={<SegmentedControl aria-label="State of tickets" data={STATES} value={search.status ?? ""} onChange={(status) => void navigate({ search: (before) => ({ ...before, status: status || undefined, page: undefined }), replace: true })} />}
        empty={
          <Empty icon="ticket" title="No tickets yet" command={CURL} action={create}>
            Ask the people who run this service for help. Each ticket is a conversation, which you can follow here.
          </Empty>
        }
      />
    </Page>
  );
}
