/** Filters that are kept under a name, with what the server remembers for this user. */
import { Button, Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";

import { api, body } from "../../api/client";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import type { Search } from "./queries";

const KeepView = lazy(() => import("./KeepView"));

type Views = Record<string, Search>;
type Preferences = Record<string, unknown> & { instance_views?: Views };
const preferences = queryOptions({ queryKey: ["profile", "preferences"], queryFn: async () => (await body(api.GET("/profile/preferences"))) as Preferences });

export function Views({ search, onChoose }: { search: Search; onChoose: (search: Search) => void }) {
  const cache = useQueryClient();
  const [opened, setOpened] = useState(false);
  const [naming, setNaming] = useState(false);
  const { data } = useQuery({ ...preferences, enabled: opened });
  const views = data?.instance_views ?? {};
  const { page: _page, ...wanted } = search;
  const isFiltered = Object.keys(wanted).length > 0;

  /** Everything else that is remembered is kept: the API replaces the whole. */
  async function keep(change: (views: Views) => Views): Promise<void> {
    try {
      const now = await cache.fetchQuery({ ...preferences, staleTime: 0 });
      const next: Preferences = { ...now, instance_views: change(now.instance_views ?? {}) };
      cache.setQueryData(preferences.queryKey, next);
      await body(api.PUT("/profile/preferences", { body: next as Record<string, never> }));
    } catch (error) {
      notifications.show({ title: "The view was not kept", message: error instanceof Error ? error.message : String(error), color: "red.8" });
      await cache.invalidateQueries({ queryKey: preferences.queryKey });
    }
  }

  return (
    <>
    {naming && (
      <Suspense fallback={null}>
        <KeepView onClose={() => setNaming(false)} onKeep={(name) => keep((kept) => ({ ...kept, [name]: wanted }))} />
      </Suspense>
    )}
    <Menu opened={opened} onChange={setOpened} position="bottom-end" width={240}>
      <Menu.Target>
        <Button variant="default" rightSection={<Icon name="down" size={14} />}>
          Views
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onChoose({})}>All instances</Menu.Item>
        {Object.entries(views).map(([label, view]) => (
          <Menu.Item key={label} onClick={() => onChoose(view)}>
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        {Object.keys(views).map((label) => (
          <Menu.Item key={label} color="red.8" leftSection={<Icon name="trash" size={14} />} onClick={() => void keep(({ [label]: _gone, ...rest }) => rest)}>
            Forget “{label}”
          </Menu.Item>
        ))}
        <Disabled reason={!isFiltered && "Find or filter first: all instances need no name"}>
          <Menu.Item leftSection={<Icon name="plus" size={14} />} onClick={() => setNaming(true)}>
            Keep this view…
          </Menu.Item>
        </Disabled>
      </Menu.Dropdown>
    </Menu>
    </>
  );
}
