import { Button, Skeleton } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Outlet, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import type { Instance } from "../../api/client";
import { useProgress } from "../../live/progress";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { ErrorMessage, Page } from "../../ui/Page";
import { Status } from "../../ui/Status";
import { Tabs } from "../../ui/Tabs";
import { words } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { DeleteInstance } from "./DeleteInstance";
import { Power } from "./Power";
import { instanceById, refusalOf, update, usePower } from "./queries";

const route = getRouteApi("/instances/$id");
const BACK = { to: "/instances", label: "Instances" };
const TABS = [
  ["", "Overview"],
  ["/graphs", "Graphs"],
  ["/console", "Console"],
  ["/disks", "Disks and configurations"],
  ["/backups", "Backups"],
  ["/network", "Network"],
  ["/settings", "Settings"],
] as const;

/** The frame of an instance: its name, its state and what can be ordered of it, over the part that is shown. */
export default function Detail() {
  const { id } = route.useParams();
  const query = useQuery(instanceById(id));
  if (query.isError && !query.data)
    return (
      <Page title="Instance" back={BACK}>
        <ErrorMessage error={query.error} again={() => void query.refetch()} />
      </Page>
    );
  if (!query.data)
    return (
      <Page title="Instance" back={BACK}>
        <Skeleton height={160} radius={10} />
      </Page>
    );
  return <Frame instance={query.data} />;
}

function Frame({ instance }: { instance: Instance }) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const event = useProgress("compute", instance.id);
  const power = usePower();
  const denied = usePermissions().change("compute", instance.id);
  const [toRemove, setToRemove] = useState<Instance | null>(null);
  const order = instance.status === "offline" ? "boot" : "reboot";
  const rename = async (label: string) => {
    const renamed = await update(instance.id, { label });
    cache.setQueryData(instanceById(instance.id).queryKey, renamed);
    await cache.invalidateQueries({ queryKey: ["instances", "list"] });
  };
  return (
    <Page
      title={instance.label}
      back={BACK}
      onRename={rename}
      renameHeld={denied}
      lead={<Status status={instance.status} event={event} wide={event !== undefined} />}
      actions={
        <>
          <Disabled reason={denied ?? refusalOf(instance, order, event !== undefined)}>
            <Button
              variant="default"
              leftSection={<Icon name={order === "boot" ? "power" : "reboot"} size={16} />}
              onClick={() => power.mutate({ instance, order }, { onError: (error) => notifications.show({ title: words(order), message: error.message, color: "red.8" }) })}
            >
              {words(order)}
            </Button>
          </Disabled>
          <Power instance={instance} onRemove={setToRemove} />
        </>
      }
    >
      <Tabs label={`Parts of ${instance.label}`} tabs={TABS.map(([path, label]) => ({ to: `/instances/${instance.id}${path}`, label, exact: path === "" }))} />
      <Outlet />
      {toRemove && <DeleteInstance instance={instance} onClose={() => setToRemove(null)} onGone={() => navigate({ to: "/instances", search: {} })} />}
    </Page>
  );
}
