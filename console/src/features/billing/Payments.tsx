import { Button, Checkbox, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";

import { Refused } from "../../api/errors";
import { Time } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { Fields, FormCard, useSending } from "../../ui/form";
import { Card, Empty, ErrorMessage, Page } from "../../ui/Page";
import { type Column, Table } from "../../ui/Table";
import { money } from "../../ui/words";
import { account } from "../account/queries";
import { usePermissions } from "../profile/permissions";
import css from "./Billing.module.css";
import { BillingTabs } from "./BillingTabs";
import { nameOfCard, Pay } from "./Pay";
import { addCard, makeDefault, type Method, methods, type Payment, payments, redeem, removeMethod } from "./queries";

const route = getRouteApi("/billing/payments");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/account/payments --json \'{"usd": "20.00"}\'';
const COLUMNS: Column<Payment>[] = [
  { key: "id", header: "Payment", csv: (payment) => payment.id, cell: (payment) => `Payment ${payment.id}` },
  { key: "date", header: "Date", csv: (payment) => payment.date, cell: (payment) => <Time time={payment.date} /> },
  { key: "usd", header: "Amount", align: "right", csv: (payment) => payment.usd, cell: (payment) => money(payment.usd) },
];

export default function Payments() {
  const search = route.useSearch();
  const query = useQuery({ ...payments(search), placeholderData: keepPreviousData });
  const permissions = usePermissions();
  const [paying, setPaying] = useState(false);
  const owed = useQuery(account).data?.balance ?? 0;
  const button = (
    <Disabled reason={permissions.account()}>
      <Button onClick={() => setPaying(true)}>Make a payment</Button>
    </Disabled>
  );
  return (
    <Page title="Billing" actions={button}>
      <BillingTabs />
      <div className={css.paying}>
        <div className={css.stack}>
          <Methods />
          <Table
            name="payments"
            columns={COLUMNS}
            query={query}
            rowKey={(payment) => payment.id}
            rowLabel={(payment) => `payment ${payment.id}`}
            search={search}
            empty={
              <Empty icon="receipt" title="No payments yet" command={CURL}>
                Invoices are charged to your default card on the first of the month. You can pay in advance at any time.
              </Empty>
            }
          />
        </div>
        <div className={css.stack}>
          <AddCard />
          <Promotion />
        </div>
      </div>
      {paying && <Pay amount={owed} onClose={() => setPaying(false)} />}
    </Page>
  );
}

function Methods() {
  const query = useQuery(methods);
  const cache = useQueryClient();
  const denied = usePermissions().account();
  const [toRemove, setToRemove] = useState<Method | null>(null);
  const fresh = () => cache.invalidateQueries({ queryKey: ["account"] });
  const choose = async (card: Method) => {
    try {
      await makeDefault(card.id);
      await fresh();
    } catch (error) {
      notifications.show({ title: "Make default", message: (error as Error).message, color: "red.8" });
    }
  };
  if (query.isError) return <ErrorMessage error={query.error} again={() => void query.refetch()} />;
  const cards = query.data?.data ?? [];
  return (
    <Card title="Cards" flush>
      {query.isSuccess && cards.length === 0 && <p className={css.nothing}>No card yet. Add one, so that invoices are paid.</p>}
      <ul className={css.cards}>
        {cards.map((card) => (
          <li key={card.id}>
            <span className={css.plastic} aria-hidden="true" />
            <div>
              <strong className="figures">{`${card.data.card_type} •••• ${card.data.last_four}`}</strong>
              <span className="quiet figures">ends {card.data.expiry}</span>
            </div>
            {card.is_default ? (
              <span className={css.badge}>Default</span>
            ) : (
              <Disabled reason={denied}>
                <Button variant="default" size="xs" onClick={() => void choose(card)} aria-label={`Make ${card.data.last_four} the default`}>
                  Make default
                </Button>
              </Disabled>
            )}
            <Disabled reason={denied ?? (card.is_default && "The default card stays: make another one the default first")}>
              <Button variant="subtle" color="red.8" size="xs" onClick={() => setToRemove(card)} aria-label={`Remove ${card.data.last_four}`}>
                Remove
              </Button>
            </Disabled>
          </li>
        ))}
      </ul>
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Remove"
          label={toRemove.data.last_four}
          lost={<p>{nameOfCard(toRemove)}. It will not be charged any more.</p>}
          onConfirm={async () => {
            await removeMethod(toRemove.id);
            await fresh();
          }}
        />
      )}
    </Card>
  );
}

function AddCard() {
  const cache = useQueryClient();
  const denied = usePermissions().account();
  const form = useForm({ initialValues: { card_number: "", expiry: "", cvv: "", is_default: false } });
  const sending = useSending(
    form,
    ({ card_number, expiry, cvv, is_default }) => {
      const [month, year] = expiry.split("/").map((part) => Number(part.trim()));
      return addCard({ card_number: card_number.replace(/[\s-]/g, ""), expiry_month: month ?? 0, expiry_year: (year ?? 0) < 100 ? 2000 + (year ?? 0) : (year ?? 0), cvv }, is_default).catch(flattened);
    },
    async () => {
      form.reset();
      await cache.invalidateQueries({ queryKey: ["account"] });
      notifications.show({ message: "The card is kept", color: "croft" });
    },
  );
  return (
    <FormCard title="Add a card" sending={sending} submit="Add card" held={denied} quiet>
      <TextInput label="Card number" inputMode="numeric" autoComplete="cc-number" {...form.getInputProps("card_number")} />
      <Fields beside>
        <TextInput label="Ends" placeholder="MM/YYYY" autoComplete="cc-exp" {...form.getInputProps("expiry")} />
        <TextInput label="Security code" inputMode="numeric" autoComplete="cc-csc" {...form.getInputProps("cvv")} />
      </Fields>
      <Checkbox label="Charge this one by default" {...form.getInputProps("is_default", { type: "checkbox" })} />
    </FormCard>
  );
}

/** The server blames `data.card_number` or `data.expiry_month`; the form has one field for each line of the card. */
function flattened(error: unknown): never {
  if (error instanceof Refused)
    throw new Refused(error.status, error.reasons.map(({ field, reason }) => ({ reason, field: field?.replace(/^data\./, "").replace(/^expiry_.*/, "expiry") })), error.requestId, error.retryAfter);
  throw error;
}

function Promotion() {
  const cache = useQueryClient();
  const denied = usePermissions().unrestricted();
  const form = useForm({ initialValues: { promo_code: "" } });
  const sending = useSending(
    form,
    ({ promo_code }) => redeem(promo_code.trim()),
    async (promotion) => {
      form.reset();
      await cache.invalidateQueries({ queryKey: ["account"] });
      notifications.show({ message: `${money(Number(promotion.credit_remaining))} of credit: ${promotion.summary}`, color: "croft" });
    },
  );
  return (
    <FormCard title="Promotion code" sending={sending} submit="Redeem" held={denied} quiet>
      <TextInput label="Code" autoComplete="off" {...form.getInputProps("promo_code")} />
    </FormCard>
  );
}
