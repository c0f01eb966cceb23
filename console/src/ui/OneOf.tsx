/** A choice beside the title of a card: what the card shows. `options` are values and what they are called. */
import { SegmentedControl } from "@mantine/core";

export function OneOf<V extends string>({ label, value, options, onChange }: { label: string; value: V; options: Record<V, string>; onChange: (value: V) => void }) {
  const data = Object.entries<string>(options).map(([option, word]) => ({ value: option, label: word }));
  return <SegmentedControl size="xs" aria-label={label} value={value} onChange={(chosen) => onChange(chosen as V)} data={data} />;
}
