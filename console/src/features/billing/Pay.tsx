/** A payment: how much, from which card. Nothing is shown as paid before the server says so. */
import { Button, Group, Modal, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { Fields, useSending } from "../../ui/form";
import { Trouble } from "../../ui/Page";
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
    <Modal opened onClose={onClose} title="Make a payment" centered radius={12} overlayProps={{ backgroundOpacity: 0.35, blur: 2 }}>
      <form onSubmit={sending.onSubmit} noValidate>
        <Fields>
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
          {sending.problem !== null && <Trouble error={sending.problem} />}
        </Fields>
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={onClose}>
            Not now
          </Button>
          <Button type="submit" loading={sending.busy}>
            Pay{/^\d+\.\d\d$/.test(form.values.usd) ? ` ${money(Number(form.values.usd))}` : ""}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
