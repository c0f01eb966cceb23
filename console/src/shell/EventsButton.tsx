/** The way to what is going on, from every page: a button with the number not seen yet, and the key `e`. */
import { ActionIcon, Indicator, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";

import { recent, useUnseen } from "../features/events/queries";
import { Icon } from "../ui/Icon";
import { SHOW_EVENTS } from "./shortcuts";

const Drawer = lazy(() => import("../features/events/Drawer"));

export function EventsButton() {
  const [state, setState] = useState<"never" | "open" | "closed">("never");
  const unseen = useUnseen(useQuery(recent).data?.data);
  useEffect(() => {
    const show = () => setState("open");
    addEventListener(SHOW_EVENTS, show);
    return () => removeEventListener(SHOW_EVENTS, show);
  }, []);
  return (
    <>
      <Tooltip label="What is going on (e)" position="top">
        <Indicator label={unseen > 9 ? "9+" : unseen} disabled={unseen === 0} size={15} offset={6} color="var(--busy)" styles={{ indicator: { color: "var(--card)", fontWeight: 600 } }}>
          <ActionIcon variant="subtle" color="gray" aria-label={unseen > 0 ? `What is going on, ${unseen} not seen` : "What is going on"} onClick={() => setState("open")}>
            <Icon name="bell" />
          </ActionIcon>
        </Indicator>
      </Tooltip>
      {state !== "never" && (
        <Suspense>
          <Drawer opened={state === "open"} onClose={() => setState("closed")} />
        </Suspense>
      )}
    </>
  );
}
