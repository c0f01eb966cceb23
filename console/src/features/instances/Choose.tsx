/** The field that chooses one instance or several, of a region if that matters. Other features use it in their forms. */
import { MultiSelect, type MultiSelectProps, Select, type SelectProps } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { choices } from "./queries";

function useOffered(region?: string) {
  const [typed, setTyped] = useState("");
  const [asked] = useDebouncedValue(typed, 200);
  const { data } = useQuery({ ...choices(asked, region), placeholderData: keepPreviousData });
  const options = (data?.data ?? []).map((instance) => ({ value: String(instance.id), label: instance.label }));
  return { data: options, searchable: true, searchValue: typed, onSearchChange: setTyped, nothingFoundMessage: region ? `No instance in ${region}` : "No instance" };
}

// Dialogs begin with the focus on it: an open list would cover their buttons.
export function ChooseInstance({ region, ...props }: SelectProps & { region?: string }) {
  return <Select placeholder="Choose an instance" openOnFocus={false} {...useOffered(region)} {...props} />;
}

export function ChooseInstances({ region, ...props }: MultiSelectProps & { region?: string }) {
  return <MultiSelect placeholder={props.value?.length ? undefined : "Choose instances"} hidePickedOptions {...useOffered(region)} {...props} />;
}
