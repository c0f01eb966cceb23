import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import { Empty, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { type Column, Table } from "../../ui/Table";
import { day, money } from "../../ui/words";
import { BillingTabs } from "./BillingTabs";
import { Documents } from "./Documents";
import { type Invoice, invoices } from "./queries";

const route = getRouteApi("/billing/invoices");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4/account/invoices';
const COLUMNS: Column<Invoice>[] = [
  { key: "label", header: "Invoice", csv: (one) => one.label, cell: (one) => <RowLink to={`/billing/invoices/${one.id}`}>{one.label}</RowLink> },
  { key: "date", header: "Date", csv: (one) => one.date, cell: (one) => day(one.date) },
  { key: "subtotal", header: "Net", align: "right", phone: "hide", csv: (one) => one.subtotal, cell: (one) => money(one.subtotal) },
  { key: "tax", header: "Tax", align: "right", phone: "hide", csv: (one) => one.tax, cell: (one) => money(one.tax) },
  { key: "total", header: "Total", align: "right", csv: (one) => one.total, cell: (one) => <strong>{money(one.total)}</strong> },
];
const actions = (one: Invoice) => <Documents invoice={one} small />;

export default function Invoices() {
  const search = route.useSearch();
  const query = useQuery({ ...invoices(search), placeholderData: keepPreviousData });
  return (
    <Page title="Billing">
      <BillingTabs />
      <Table
        name="invoices"
        columns={COLUMNS}
        query={query}
        rowKey={(one) => one.id}
        rowLabel={(one) => one.label}
        search={search}
        actions={actions}
        empty={
          <Empty icon="receipt" title="No invoices yet" command={CURL}>
            An invoice is made on the first of each month, of all that was used in the month before.
          </Empty>
        }
      />
    </Page>
  );
}
