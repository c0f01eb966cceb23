import { Checkbox } from "@mantine/core";
import { useForm } from "@mantine/form";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useSending } from "../../../ui/form";
import { FormDialog } from "../../../ui/FormDialog";
import { ErrorMessage } from "../../../ui/Page";
import { PriceChange } from "../../../ui/PriceChange";
import { resize, resizing } from "../operationQueries";
import { Plans, Sorts, useSort } from "../Plans";
import { cost } from "../queries";
import { type DialogProps, useBegun } from "./done";

export default function Resize({ instance, onClose }: DialogProps) {
  const form = useForm({ initialValues: { type: instance.type, allow_auto_disk_resize: true } });
  const [sort, setSort] = useState<string | null>(null);
  const ownSort = useSort(instance.type);
  const isSame = form.values.type === instance.type;
  const plan = useQuery({ ...resizing(instance.id, form.values), placeholderData: keepPreviousData, enabled: !isSame });
  const paid = useQuery(cost(instance.id));
  const sending = useSending(form, (values) => resize(instance.id, values), useBegun(onClose, `${instance.label} is being resized`));
  const refused = !isSame && plan.isError;
  return (
    <FormDialog title={`Resize ${instance.label}`} size="xl" sending={sending} submit="Resize" onClose={onClose} held={isSame ? "This is its plan already" : refused && "The server would refuse this"}>
      {refused ? <ErrorMessage error={plan.error} /> : <PriceChange price={isSame ? { hourly: 0, monthly: 0 } : plan.data?.price} before={paid.data} stale={plan.isFetching} />}
      <Sorts value={sort ?? ownSort} onChange={setSort} />
      <Plans sort={sort ?? ownSort} value={form.values.type} onChange={(type) => form.setFieldValue("type", type)} now={instance.type} />
      <Checkbox label="Let the disk grow or shrink with the plan" description="If there is one disk besides swap" {...form.getInputProps("allow_auto_disk_resize", { type: "checkbox" })} />
    </FormDialog>
  );
}
