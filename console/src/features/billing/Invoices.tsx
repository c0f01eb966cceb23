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
  { key: "label", header: "Invoice", csv: (invoice) => invoice.label, cell: (invoice) => <RowLink to={`/billing/invoices/${invoice.id}`}>{invoice.label}</RowLink> },
  { key: "date", header: "Date", csv: (invoice) => invoice.date, cell: (invoice) => day(invoice.date) },
  { key: "subtotal", header: "Net", align: "right", phone: "hide", csv: (invoice) => invoice.subtotal, cell: (invoice) => money(invoice.subtotal) },
  { key: "tax", header: "Tax", align: "right", phone: "hide", csv: (invoice) => invoice.tax, cell: (invoice) => money(invoice.tax) },
  { key: "total", header: "Total", align: "right", csv: (invoice) => invoice.total, cell: (invoice) => <strong>{money(invoice.total)}</strong> },
];
const actions = (invoice: Invoice) => <Documents invoice={invoice} small />;

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
        rowKey={(invoice) => invoice.id}
        rowLabel={(invoice) => invoice.label}
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
