/** What a form would cost, and what the server would refuse in it, asked while it is filled in. */
import type { UseFormReturnType } from "@mantine/form";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import type { Plan } from "../api/client";
import { toFields } from "../api/errors";

interface Planning {
  price: Plan["price"] | undefined;
  stale: boolean;
  /** The reason at a field: of the last attempt, else what would be refused of what has been typed there. */
  error: (field: string) => ReactNode;
}

/**
 * `ask` sends the order with `ASK_FIRST`. `bare` is the order with what must be there and is not yet: it gives the price
 * while the order itself would be refused.
 */
export function usePlan<V extends Record<string, unknown>, W>(feature: string, form: UseFormReturnType<V>, ask: (wanted: W, signal: AbortSignal) => Promise<Plan>, wanted: W, bare: W): Planning {
  const [asked] = useDebouncedValue({ wanted, bare }, 250);
  const options = { staleTime: 30_000, placeholderData: keepPreviousData };
  const whole = useQuery({ queryKey: ["plan", feature, asked.wanted], queryFn: ({ signal }) => ask(asked.wanted, signal), ...options });
  const rough = useQuery({ queryKey: ["plan", feature, asked.bare], queryFn: ({ signal }) => ask(asked.bare, signal), ...options, enabled: whole.isError });
  const fieldErrors: Record<string, string> = whole.isError ? toFields(whole.error, Object.keys(form.values)).fields : {};
  return {
    price: (whole.isError ? rough.data : whole.data)?.price,
    stale: whole.isFetching || rough.isFetching,
    error: (field) => form.errors[field] ?? (form.isTouched(field) ? fieldErrors[field] : undefined),
  };
}
