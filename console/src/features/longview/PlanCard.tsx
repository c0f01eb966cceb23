/** How many clients there may be, and for how much. */
import { NativeSelect } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { FormCard, useSending } from "../../ui/form";
import { notify } from "../../ui/notify";
import { money } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { plan, subscribe, type Subscription, subscriptions } from "./queries";

export function PlanCard({ clients }: { clients: number }) {
  const now = useQuery(plan);
  const offered = useQuery(subscriptions).data?.data;
  return now.isSuccess && offered ? <Choice key={now.data} now={now.data} offered={offered} clients={clients} /> : null;
}

function Choice({ now, offered, clients }: { now: Subscription["id"] | null; offered: Subscription[]; clients: number }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: { longview_subscription: now ?? "" } });
  const sending = useSending(
    form,
    (values) => subscribe((values.longview_subscription || null) as Subscription["id"] | null),
    async () => {
      notify("The plan is changed");
      await cache.invalidateQueries({ queryKey: ["longview", "plan"] });
    },
  );
  const chosen = offered.find((subscription) => subscription.id === form.values.longview_subscription);
  const options = [{ value: "", label: "Longview Free" }, ...offered.map((subscription) => ({ value: subscription.id, label: `${subscription.label}: ${subscription.clients_included} clients, ${money(subscription.price.monthly)} a month` }))];
  const tooSmall = chosen && chosen.clients_included < clients ? `It includes ${chosen.clients_included} clients; you have ${clients}.` : undefined;
  return (
    <FormCard quiet title="Plan" lead="A larger plan keeps what is reported for longer, and lets more clients report." sending={sending} submit="Change the plan" held={usePermissions().create("longview_subscription") ?? tooSmall}>
      <NativeSelect label="Plan" data={options} {...form.getInputProps("longview_subscription")} />
    </FormCard>
  );
}
