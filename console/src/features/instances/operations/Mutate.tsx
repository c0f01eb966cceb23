import { Checkbox } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";

import { useSending } from "../../../ui/form";
import { FormDialog } from "../../../ui/FormDialog";
import { ErrorMessage } from "../../../ui/Page";
import { PriceChange } from "../../../ui/PriceChange";
import { size } from "../../../ui/words";
import { mutate, mutating } from "../operationQueries";
import { cost, legacyTypes, types } from "../queries";
import { type DialogProps, useBegun } from "./done";

export default function Mutate({ instance, onClose }: DialogProps) {
  const form = useForm({ initialValues: { allow_auto_disk_resize: true } });
  const plan = useQuery(mutating(instance.id));
  const paid = useQuery(cost(instance.id));
  const oldType = useQuery(legacyTypes).data?.data.find((type) => type.id === instance.type);
  const next = useQuery(types).data?.data.find((type) => type.id === oldType?.successor);
  const sending = useSending(form, ({ allow_auto_disk_resize }) => mutate(instance.id, allow_auto_disk_resize), useBegun(onClose, `${instance.label} is being upgraded`));
  return (
    <FormDialog title={`Upgrade ${instance.label}`} sending={sending} submit="Upgrade" onClose={onClose} held={plan.isError && "The server would refuse this"}>
      {next && (
        <p>
          From {instance.specs.vcpus} vCPU, {size(instance.specs.memory)} and {size(instance.specs.disk)} to {next.vcpus} vCPU, {size(next.memory)} and {size(next.disk)}. {instance.status === "running" && "It is restarted."}
        </p>
      )}
      <Checkbox label="Let the disk grow with the plan" {...form.getInputProps("allow_auto_disk_resize", { type: "checkbox" })} />
      {plan.isError ? <ErrorMessage error={plan.error} /> : <PriceChange price={plan.data?.price} before={paid.data} stale={plan.isFetching} />}
    </FormDialog>
  );
}
