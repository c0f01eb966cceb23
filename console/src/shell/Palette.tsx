/** Everything by name: pages, instances, and what can be done. Ctrl K. */
import { createSpotlight, Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { useState } from "react";

import { instances } from "../features/instances/queries";
import { Icon } from "../ui/Icon";
import { StatusDot, toneOf } from "../ui/Status";
import { words } from "../ui/words";
import { navigationOf } from "./navigation";

const [store, palette] = createSpotlight();

/** Opens it, wherever one is. */
export const open = palette.open;

export default function Palette() {
  const navigate = useNavigate();
  const [used, setUsed] = useState(() => store.getState().opened); // nobody's instances are asked for before
  const { data } = useQuery({ ...instances(), enabled: used });
  const actions: SpotlightActionData[] = [
    ...navigationOf(useRouter().routesByPath).flatMap((group) =>
      group.entries.map((entry) => ({ id: entry.to, label: entry.label, description: group.label, keywords: entry.keywords, leftSection: <Icon name={entry.icon} />, onClick: () => void navigate({ to: entry.to }) })),
    ),
    { id: "new", label: "Create an instance", leftSection: <Icon name="plus" />, onClick: () => void navigate({ to: "/instances/new" }) },
    ...(used ? (data?.data ?? []) : []).map((instance) => ({
      id: `instance-${instance.id}`,
      label: instance.label,
      description: `${words(instance.status)}, ${instance.ipv4[0] ?? "no address"}`,
      keywords: [...instance.tags, ...instance.ipv4, instance.region],
      leftSection: <span style={{ display: "grid", placeItems: "center", width: 18 }}><StatusDot tone={toneOf(instance.status)} /></span>,
      onClick: () => void navigate({ to: "/instances/$id", params: { id: instance.id } }),
    })),
  ];
  return (
    <Spotlight
      store={store}
      actions={actions}
      shortcut={null}
      nothingFound="Nothing has this name"
      highlightQuery
      limit={12}
      radius={12}
      onSpotlightOpen={() => setUsed(true)}
      searchProps={{ leftSection: <Icon name="search" />, placeholder: "Jump to…", "aria-label": "Jump to" }}
    />
  );
}
