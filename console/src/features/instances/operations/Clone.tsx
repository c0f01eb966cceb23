import { Checkbox, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Schemas } from "../../../api/client";
import { toFields } from "../../../api/errors";
import { useSending } from "../../../ui/form";
import { FormDialog } from "../../../ui/FormDialog";
import { PriceChange } from "../../../ui/PriceChange";
import { ErrorMessage } from "../../../ui/Page";
import { money } from "../../../ui/words";
import { RegionField } from "../Deploy";
import { clone, cloning } from "../operationQueries";
import { instances, types } from "../queries";
import css from "../Settings.module.css";
import { type DialogProps, useBegun } from "./done";

const START = { region: "", type: "", label: "", compute_id: "", backups_enabled: false, private_ip: false };

function toBody(values: typeof START, isNew: boolean): Schemas["Clone"] {
  if (!isNew) return { compute_id: Number(values.compute_id) };
  const { region, type, label, backups_enabled, private_ip } = values;
  return { region, type, backups_enabled, private_ip, ...(label ? { label } : {}) };
}

export default function Clone({ instance, onClose }: DialogProps) {
  const [into, setInto] = useState("new");
  const isNew = into === "new";
  const form = useForm({ initialValues: { ...START, region: instance.region, type: instance.type, backups_enabled: instance.backups.enabled } });
  const offered = useQuery(types).data?.data ?? [];
  const others = (useQuery(instances()).data?.data ?? []).filter((other) => other.id !== instance.id);
  const wanted = toBody(form.values, isNew);
  const [asked] = useDebouncedValue(wanted, 250);
  const isWhole = isNew || form.values.compute_id !== "";
  const plan = useQuery({ ...cloning(instance.id, asked), placeholderData: keepPreviousData, enabled: isWhole });
  const planErrors = plan.isError ? toFields(plan.error, Object.keys(START)) : { fields: {}, rest: [] };
  const errorOf = (field: keyof typeof START) => form.errors[field] ?? (planErrors.fields as Record<string, string>)[field];
  const sending = useSending(form, () => clone(instance.id, wanted), useBegun(onClose, `${instance.label} is being cloned`));
  return (
    <FormDialog title={`Clone ${instance.label}`} size="lg" sending={sending} submit="Clone" onClose={onClose} held={isWhole ? plan.isError && "The server would refuse this" : "Choose an instance to clone into"}>
      <SegmentedControl
        aria-label="Where the copy goes"
        value={into}
        onChange={setInto}
        data={[
          { value: "new", label: "A new instance" },
          { value: "known", label: "One that you have" },
        ]}
      />
      {isNew ? (
        <>
          <div className={css.pairs}>
            <TextInput label="Name" placeholder="Chosen for you, if left empty" autoComplete="off" {...form.getInputProps("label")} error={errorOf("label")} />
            <RegionField {...form.getInputProps("region")} error={errorOf("region")} />
            <Select label="Plan" searchable allowDeselect={false} data={offered.map((type) => ({ value: type.id, label: `${type.label}, ${money(type.price.monthly)} a month` }))} {...form.getInputProps("type")} error={errorOf("type")} />
          </div>
          <Checkbox label="Backups" {...form.getInputProps("backups_enabled", { type: "checkbox" })} />
          <Checkbox label="Private address" {...form.getInputProps("private_ip", { type: "checkbox" })} />
        </>
      ) : (
        <Select
          label="Into"
          description="The disks and configurations are put beside those that it has"
          searchable
          data={others.map((other) => ({ value: String(other.id), label: `${other.label} (${other.region})` }))}
          {...form.getInputProps("compute_id")}
          value={form.values.compute_id || null}
          error={errorOf("compute_id")}
        />
      )}
      {planErrors.rest.length > 0 ? <ErrorMessage error={plan.error} /> : <PriceChange price={plan.data?.price} stale={plan.isFetching} />}
    </FormDialog>
  );
}
