import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import { Card, ErrorMessage, Page } from "../../ui/Page";
import { count, day, money, perHour } from "../../ui/words";
import { account } from "../account/queries";
import css from "./Billing.module.css";
import { Documents } from "./Documents";
import { invoiceById, type Item, items } from "./queries";

const route = getRouteApi("/billing/invoices/$id");
const BACK = { to: "/billing/invoices", label: "Invoices" };

export default function InvoicePage() {
  const { id } = route.useParams();
  const query = useQuery(invoiceById(id));
  const lines = useQuery(items(id));
  const invoice = query.data;
  if (query.isError)
    return (
      <Page title="Invoice" back={BACK}>
        <ErrorMessage error={query.error} again={() => void query.refetch()} />
      </Page>
    );
  if (!invoice)
    return (
      <Page title="Invoice" back={BACK}>
        <Skeleton height={320} radius={10} />
      </Page>
    );
  const total = lines.data?.results ?? 0;
  const left = total - (lines.data?.data.length ?? 0);
  return (
    <Page title={invoice.label} back={BACK} lead={`Of ${day(invoice.date)}`} actions={<Documents invoice={invoice} />}>
      <div className={css.sheet}>
        <Card flush>
          <Parties date={invoice.date} id={id} />
          {lines.isError ? <ErrorMessage error={lines.error} again={() => void lines.refetch()} /> : !lines.data ? <Skeleton height={200} /> : <Lines lines={lines.data.data} />}
          {left > 0 && <p className={css.note}>{count(left, "more line")} in the files</p>}
          <dl className={`${css.totals} figures`}>
            <dt>Net</dt>
            <dd>{money(invoice.subtotal)}</dd>
            <dt>Tax</dt>
            <dd>{money(invoice.tax)}</dd>
            <dt>Total</dt>
            <dd>{money(invoice.total)}</dd>
          </dl>
        </Card>
      </div>
    </Page>
  );
}

function Parties({ date, id }: { date: string; id: number }) {
  const { data } = useQuery(account);
  const name = data && (data.company || `${data.first_name} ${data.last_name}`.trim() || data.email);
  const address = data ? [data.address_1, data.address_2, [data.zip, data.city].filter(Boolean).join(" "), data.state, data.country].filter(Boolean) : [];
  return (
    <div className={css.parties}>
      <div>
        <span className="quiet">Billed to</span>
        <strong>{name}</strong>
        {address.map((part) => (
          <span key={part}>{part}</span>
        ))}
        {data?.tax_id && <span>Tax number {data.tax_id}</span>}
      </div>
      <dl className="figures">
        <dt>Invoice</dt>
        <dd>{id}</dd>
        <dt>Date</dt>
        <dd>{day(date)}</dd>
      </dl>
    </div>
  );
}

function Lines({ lines }: { lines: Item[] }) {
  if (lines.length === 0) return <p className={css.nothing}>This invoice has no lines.</p>;
  return (
    <div className={css.scroll} tabIndex={0} role="region" aria-label="Lines of the invoice">
      <table className={`${css.lines} figures`}>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Quantity</th>
            <th scope="col">Each</th>
            <th scope="col">Net</th>
            <th scope="col">Tax</th>
            <th scope="col">Total</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, index) => (
            <tr key={`${line.label}-${index}`}>
              <th scope="row">{line.label}</th>
              <td>{day(line.from)}</td>
              <td>{day(line.to)}</td>
              <td>{line.type === "hourly" ? count(line.quantity, "hour") : line.quantity}</td>
              <td>{perHour(line.unit_price)}</td>
              <td>{money(line.amount)}</td>
              <td>{money(line.tax)}</td>
              <td>{money(line.total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
