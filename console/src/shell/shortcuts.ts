/** Keys that work everywhere: `g i` goes to instances, `c` creates, `e` shows events, `/` searches. Typing in a field is left alone. */
import { useNavigate, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";

import { isFree } from "../ui/keys";
import { navigationOf } from "./navigation";

const SEQUENCE_TIMEOUT = 900;
/** Told to the window when somebody wants to see what is going on. */
export const SHOW_EVENTS = "crofter.events";

export function useShortcuts(): void {
  const navigate = useNavigate();
  const router = useRouter();
  useEffect(() => {
    let lastG = 0;
    const places = new Map(navigationOf(router.routesByPath).flatMap((group) => group.entries.map((entry) => [entry.key, entry.to])));
    function press(key: KeyboardEvent): void {
      if (!isFree(key)) return;
      const afterG = Date.now() - lastG < SEQUENCE_TIMEOUT;
      lastG = key.key === "g" ? Date.now() : 0;
      const place = afterG ? places.get(key.key) : undefined;
      if (place) void navigate({ to: place });
      else if (key.key === "?" && "/help" in router.routesByPath) void navigate({ to: "/help" as string });
      else if (key.key === "e") dispatchEvent(new CustomEvent(SHOW_EVENTS));
      else if (key.key === "c") void navigate({ to: createHere(router.state.location.pathname, router.routesByPath) });
      else if (key.key === "/") {
        key.preventDefault();
        document.querySelector<HTMLInputElement>("input[type=search]")?.focus();
      }
    }
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [navigate, router]);
}

/** The form that makes one more of what the page is about; of instances where it is about nothing else. */
function createHere(path: string, known: Record<string, unknown>): string {
  const form = `/${path.replace(/^\/console/, "").split("/")[1]}/new`;
  return form in known ? form : "/instances/new";
}
