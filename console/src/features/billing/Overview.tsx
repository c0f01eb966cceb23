import { Button, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { Disabled } from "../../ui/Disabled";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { count, day, money, perHour, words } from "../../ui/words";
import { account, cost, instanceCosts } from "../account/queries";
import { usePermissions } from "../profile/permissions";
import css from "./Billing.module.css";
import { BillingTabs } from "./BillingTabs";
import { Pay } from "./Pay";

/** How many instances are named. */
const AT_MOST = 20;

export default function Overview() {
  const query = useQuery(account);
  const permissions = usePermissions();
  const [paying, setPaying] = useState(false);
  const owed = query.data?.balance ?? 0;
  return (
    <Page
      title="Billing"
      actions={
        <Disabled reason={permissions.account()}>
          <Button onClick={() => setPaying(true)}>{owed > 0 ? `Pay ${money(owed)}` : "Make a payment"}</Button>
        </Disabled>
      }
    >
      <BillingTabs />
      {query.isError ? (
        <ErrorMessage error={query.error} again={() => void query.refetch()} />
      ) : (
        <>
          <Balances />
          <Month />
        </>
      )}
      {paying && <Pay amount={owed} onClose={() => setPaying(false)} />}
    </Page>
  );
}

function Balances() {
  const { data } = useQuery(account);
  if (!data) return <Skeleton height={120} radius={10} />;
  const card = data.credit_card;
  return (
    <div className={css.figures}>
      <Card title="Balance">
        <p className={css.big} data-owed={data.balance > 0 || undefined}>
          <strong className="figures">{money(Math.abs(data.balance))}</strong>
        </p>
        <p className="quiet">{data.balance > 0 ? "owed on invoices" : data.balance < 0 ? "to your credit" : "nothing is owed"}</p>
      </Card>
      <Card title="Not invoiced yet">
        <p className={css.big}>
          <strong className="figures">{money(data.balance_uninvoiced)}</strong>
        </p>
        <p className="quiet">on the next invoice so far</p>
      </Card>
      <Card title="Card">
        <p className={css.big}>
          <strong className="figures">{card.last_four ? `•••• ${String(card.last_four).padStart(4, "0")}` : "None"}</strong>
        </p>
        <p className="quiet">{card.expiry ? `charged for invoices, ends ${card.expiry}` : <Link to="/billing/payments" search={{}}>Add one, so that invoices are paid</Link>}</p>
      </Card>
      {data.active_promotions.map((promotion) => (
        <Card key={promotion.summary} title="Promotion">
          <p className={css.big}>
            <strong className="figures">{money(Number(promotion.credit_remaining))}</strong>
          </p>
          <p className="quiet">
            left of “{promotion.summary}”, {money(Number(promotion.this_month_credit_remaining))} of it this month{promotion.expire_dt && `, until ${day(promotion.expire_dt)}`}
          </p>
        </Card>
      ))}
    </div>
  );
}

interface Line {
  name: string;
  to?: number;
  so_far: number;
  forecast: number;
}

function Month() {
  const { data, error, refetch } = useQuery(cost);
  if (error) return <ErrorMessage error={error} again={() => void refetch()} />;
  if (!data) return <Skeleton height={240} radius={10} />;
  const share = data.forecast ? Math.min(data.month_to_date / data.forecast, 1) : 0;
  return (
    <>
      <Card title="This month" aside={<span className="quiet figures">{perHour(data.hourly)} an hour now</span>}>
        <p className={css.big}>
          <strong className="figures">{money(data.month_to_date)}</strong> <span className="quiet">so far, {money(data.forecast)} by its end if nothing changes, before tax</span>
        </p>
        <div className={css.track} role="img" aria-label={`${money(data.month_to_date)} of ${money(data.forecast)}`}>
          <div style={{ width: `${share * 100}%` }} />
        </div>
      </Card>
      <div className={css.breakdowns}>
        <Breakdown title="By sort of service" lines={data.services.map((serviceCost) => ({ name: words(serviceCost.service), so_far: serviceCost.month_to_date, forecast: serviceCost.forecast }))} />
        <Breakdown title="By tag" note="Something with two tags counts for both" lines={data.tags.map((tagCost) => ({ name: tagCost.tag ?? "Without a tag", so_far: tagCost.month_to_date, forecast: tagCost.forecast }))} />
        <ByInstance />
      </div>
    </>
  );
}

function ByInstance() {
  const { data } = useQuery(instanceCosts);
  const all = [...(data?.data ?? [])].sort((left, right) => right.forecast - left.forecast);
  const lines = all.slice(0, AT_MOST).map((instanceCost): Line => ({ name: instanceCost.label, to: instanceCost.id, so_far: instanceCost.month_to_date, forecast: instanceCost.forecast }));
  const notShown = (data?.results ?? 0) - lines.length;
  const of = data && data.results > all.length ? ` of the first ${all.length}` : "";
  return <Breakdown title="By instance" lines={lines} note={notShown > 0 ? `The ${AT_MOST} that cost most${of}; ${count(notShown, "more instance")} not shown` : undefined} />;
}

function Breakdown({ title, lines, note }: { title: string; lines: Line[]; note?: string }) {
  const most = Math.max(...lines.map((line) => line.forecast), 0.01);
  const ordered = [...lines].sort((left, right) => right.forecast - left.forecast);
  return (
    <Card title={title} flush>
      {ordered.length === 0 ? (
        <p className={css.nothing}>Nothing has cost anything this month.</p>
      ) : (
        <table className={`${css.costs} figures`} aria-label={`Cost this month ${title.toLowerCase()}`}>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">So far</th>
              <th scope="col">By its end</th>
            </tr>
          </thead>
          <tbody>
            {ordered.map((line) => (
              <tr key={`${line.name}-${line.to}`}>
                <th scope="row">
                  {line.to ? <RowLink to={`/instances/${line.to}`}>{line.name}</RowLink> : line.name}
                  <span className={css.share} style={{ width: `${(line.forecast / most) * 100}%` }} aria-hidden="true" />
                </th>
                <td>{money(line.so_far)}</td>
                <td>{money(line.forecast)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {note && <p className={css.note}>{note}</p>}
    </Card>
  );
}
