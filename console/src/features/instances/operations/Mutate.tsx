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

export default function Mutate({ one, onClose }: DialogProps) {
  const form = useForm({ initialValues: { allow_auto_disk_resize: true } });
  const plan = useQuery(mutating(one.id));
  const paid = useQuery(cost(one.id));
  const old = useQuery(legacyTypes).data?.data.find((type) => type.id === one.type);
  const next = useQuery(types).data?.data.find((type) => type.id === old?.successor);
  const sending = useSending(form, ({ allow_auto_disk_resize }) => mutate(one.id, allow_auto_disk_resize), useBegun(onClose, `${one.label} is being upgraded`));
  return (
    <FormDialog title={`Upgrade ${one.label}`} sending={sending} submit="Upgrade" onClose={onClose} held={plan.isError && "The server would refuse this"}>
      {next && (
        <p>
          From {one.specs.vcpus} vCPU, {size(one.specs.memory)} and {size(one.specs.disk)} to {next.vcpus} vCPU, {size(next.memory)} and {size(next.disk)}. {one.status === "running" && "It is restarted."}
        </p>
      )}
      <Checkbox label="Let the disk grow with the plan" {...form.getInputProps("allow_auto_disk_resize", { type: "checkbox" })} />
      {plan.isError ? <ErrorMessage error={plan.error} /> : <PriceChange price={plan.data?.price} before={paid.data} stale={plan.isFetching} />}
    </FormDialog>
  );
}
