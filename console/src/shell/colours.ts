/** Light, dark, or as the system has it: kept in this browser, so that it is there before the first paint, and with the user for all others. */
import { useMantineColorScheme } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { prefer, preferences, profile } from "../features/profile/queries";

export type Colours = "light" | "dark" | "auto";
const isColours = (value: unknown): value is Colours => value === "light" || value === "dark" || value === "auto";

export function useColours(): { chosen: Colours; choose: (colours: Colours) => void } {
  const cache = useQueryClient();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return {
    chosen: colorScheme,
    choose: (theme) => {
      setColorScheme(theme);
      cache.setQueryData(preferences.queryKey, (kept) => ({ ...kept, theme }));
      void prefer({ theme }).catch(() => {}); // this browser keeps it all the same
    },
  };
}

/** What was chosen in another browser holds here too. */
export function useKeptColours(): void {
  const signedIn = useQuery(profile).isSuccess;
  const theme = useQuery({ ...preferences, enabled: signedIn }).data?.theme;
  const { setColorScheme } = useMantineColorScheme();
  useEffect(() => {
    if (isColours(theme)) setColorScheme(theme);
  }, [theme, setColorScheme]);
}
