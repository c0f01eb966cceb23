import { Checkbox } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";

import { useSending } from "../../../ui/form";
import { FormDialog } from "../../../ui/FormDialog";
import { ErrorMessage } from "../../../ui/Page";
import { PriceChange } from "../../../ui/PriceChange";
import { RegionField } from "../Deploy";
import { migrate, migrating } from "../operationQueries";
import { cost } from "../queries";
import css from "../Settings.module.css";
import { type DialogProps, useBegun } from "./done";

export default function Migrate({ instance, onClose }: DialogProps) {
  const form = useForm({ initialValues: { region: "", upgrade: false } });
  const { region, upgrade } = form.values;
  const wanted = upgrade ? { region, upgrade } : { region };
  const plan = useQuery({ ...migrating(instance.id, wanted), enabled: region !== "" });
  const paid = useQuery(cost(instance.id));
  const sending = useSending(form, () => migrate(instance.id, wanted), useBegun(onClose, `${instance.label} moves to ${region}`));
  return (
    <FormDialog title={`Move ${instance.label}`} sending={sending} submit="Move" onClose={onClose} held={region === "" ? "Choose where to" : plan.isError && "The server would refuse this"}>
      <RegionField label="To" {...form.getInputProps("region")} without={instance.region} needs="Computes" />
      <Checkbox label="Upgrade its hardware on the way" description="If there is a free upgrade of its plan" {...form.getInputProps("upgrade", { type: "checkbox" })} />
      <ul className={css.lost}>
        <li>
          The addresses <code>{instance.ipv4.join(", ")}</code> are given up; it gets new ones.
        </li>
        <li>{instance.status === "running" ? "It is shut down, and booted when it has arrived." : "It stays off."}</li>
        {instance.backups.enabled && <li>Backups made so far stay in {instance.region}.</li>}
      </ul>
      {plan.isError ? <ErrorMessage error={plan.error} /> : region !== "" && <PriceChange price={plan.data?.price} before={paid.data} stale={plan.isFetching} />}
    </FormDialog>
  );
}
