/** A payment: how much, from which card. Nothing is shown as paid before the server says so. */
import { Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { money } from "../../ui/words";
import { type Method, methods, pay } from "./queries";

export const nameOfCard = (method: Method): string => `${method.data.card_type} •••• ${method.data.last_four}, ends ${method.data.expiry}`;

export function Pay({ amount, onClose }: { amount: number; onClose: () => void }) {
  const cache = useQueryClient();
  const cards = useQuery(methods).data?.data ?? [];
  const usual = cards.find((card) => card.is_default);
  const form = useForm({ initialValues: { usd: amount > 0 ? amount.toFixed(2) : "", payment_method_id: null as string | null, cvv: "" } });
  const sending = useSending(
    form,
    ({ usd, payment_method_id, cvv }) => pay(usd.trim(), payment_method_id ? Number(payment_method_id) : null, cvv),
    async (payment) => {
      await cache.invalidateQueries({ queryKey: ["account"] });
      void cache.invalidateQueries({ queryKey: ["notifications"] });
      notifications.show({ message: `${money(payment.usd)} paid. Thank you.`, color: "croft" });
      onClose();
    },
  );
  return (
    <FormDialog title="Make a payment" sending={sending} submit={`Pay${/^\d+\.\d\d$/.test(form.values.usd) ? ` ${money(Number(form.values.usd))}` : ""}`} onClose={onClose}>
      <TextInput data-autofocus label="Amount in US dollars" description="With cents, as 20.00" inputMode="decimal" autoComplete="off" {...form.getInputProps("usd")} />
      <Select
        label="Card"
        placeholder={usual ? `${nameOfCard(usual)} (default)` : "No card yet: add one first"}
        data={cards.map((card) => ({ value: String(card.id), label: nameOfCard(card) + (card.is_default ? " (default)" : "") }))}
        clearable
        clearButtonProps={{ "aria-label": "The default card" }}
        {...form.getInputProps("payment_method_id")}
      />
      <TextInput label="Security code" description="The digits on the back, if the card wants them" inputMode="numeric" autoComplete="cc-csc" {...form.getInputProps("cvv")} />
    </FormDialog>
  );
}
