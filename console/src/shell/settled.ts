/** Whether the first page has what it asked for, and the browser had time since: then comes what nobody waits for. */
import { useIsFetching } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { whenIdle } from "../ui/idle";

let reached = false;

export function useSettled(signedIn: boolean): boolean {
  const [settled, setSettled] = useState(reached);
  const quiet = useIsFetching() === 0 && signedIn;
  useEffect(() => {
    if (!quiet || settled) return;
    return whenIdle(() => {
      reached = true;
      setSettled(true);
    });
  }, [quiet, settled]);
  return settled;
}
