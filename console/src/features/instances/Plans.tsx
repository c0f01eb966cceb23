/** Plans as cards: memory first, since that is what people choose by. */
import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "../../api/client";
import { money, perHour, size } from "../../ui/words";
import css from "./Plans.module.css";
import { types } from "./queries";

const SORTS = [
  { value: "standard", label: "Shared" },
  { value: "dedicated", label: "Dedicated" },
  { value: "highmem", label: "High memory" },
  { value: "gpu", label: "GPU" },
];
const sortOf = (type: Schemas["TypeView"]) => (type.class === "nanode" ? "standard" : type.class);

/** The sort that a plan is of. */
export function useSort(id: string): string {
  const type = useQuery(types).data?.data.find((type) => type.id === id);
  return type ? sortOf(type) : "standard";
}

export function Sorts({ value, onChange }: { value: string; onChange: (sort: string) => void }) {
  return <SegmentedControl size="xs" data={SORTS} value={value} onChange={onChange} aria-label="Sort of plan" />;
}

/** `now` is the plan that there is; it cannot be chosen again. */
export function Plans({ sort, value, onChange, now }: { sort: string; value: string; onChange: (value: string) => void; now?: string }) {
  const { data } = useQuery(types);
  const offered = (data?.data ?? []).filter((type) => sortOf(type) === sort);
  return (
    <div className={css.plans} role="radiogroup" aria-label="Plan">
      {offered.map((type) => (
        <label key={type.id} className={css.plan} data-chosen={type.id === value || undefined}>
          <input type="radio" name="type" value={type.id} checked={type.id === value} onChange={() => onChange(type.id)} />
          <span className={css.planName}>{size(type.memory)}</span>
          <span className={css.planFacts}>
            {type.vcpus} vCPU, {size(type.disk)} disk{type.gpus > 0 && `, ${type.gpus} GPU`}
          </span>
          <span className={css.planFacts}>{type.transfer / 1000} TB transfer</span>
          <span className={`${css.planPrice} figures`}>
            <strong>{money(type.price.monthly)}</strong> a month
            <small>{type.id === now ? "its plan now" : `${perHour(type.price.hourly)} an hour`}</small>
          </span>
        </label>
      ))}
    </div>
  );
}
