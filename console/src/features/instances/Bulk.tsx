/** What can be ordered of many instances: four at a time, and those that refuse are named with their reasons. */
import { Button, TagsInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Instance } from "../../api/client";
import { atOnce } from "../../ui/atOnce";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { count } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { tags } from "./choices";
import { ACCEPTS, type Order, remove, update, usePower } from "./queries";

const ORDERS: { order: Order; label: string; done: string }[] = [
  { order: "boot", label: "Boot", done: "booting" },
  { order: "reboot", label: "Reboot", done: "rebooting" },
  { order: "shutdown", label: "Shut down", done: "shutting down" },
];

export default function Bulk({ chosen, clear }: { chosen: Instance[]; clear: () => void }) {
  const power = usePower();
  const permissions = usePermissions();
  const [asked, setAsked] = useState<"tags" | "delete" | null>(null);
  const [busy, setBusy] = useState(false);
  const held = chosen.map((instance) => permissions.change("compute", instance.id)).find((reason) => reason !== undefined);
  const order = async (which: Order, done: string, ready: Instance[]) => {
    setBusy(true);
    await report(ready, done, (instance) => power.mutateAsync({ instance, order: which }));
    setBusy(false);
  };
  return (
    <>
      {ORDERS.map(({ order: which, label, done }) => {
        const ready = chosen.filter((instance) => ACCEPTS[which].includes(instance.status));
        return (
          <Disabled key={which} reason={held ?? (ready.length === 0 && `None of them is ${ACCEPTS[which].join(" or ")}`)}>
            <Button variant="default" size="compact-sm" loading={busy} onClick={() => void order(which, done, ready)}>
              {label}
              {ready.length > 0 && ready.length < chosen.length ? ` ${ready.length}` : ""}
            </Button>
          </Disabled>
        );
      })}
      <Disabled reason={held}>
        <Button variant="default" size="compact-sm" onClick={() => setAsked("tags")}>
          Tag…
        </Button>
      </Disabled>
      <Disabled reason={held}>
        <Button variant="default" size="compact-sm" onClick={() => setAsked("delete")}>
          Delete…
        </Button>
      </Disabled>
      {asked === "tags" && <Tag chosen={chosen} onClose={() => setAsked(null)} />}
      {asked === "delete" && (
        <ConfirmByLabel
          onClose={() => setAsked(null)}
          verb="Delete"
          label={chosen.length === 1 ? (chosen[0]?.label ?? "") : count(chosen.length, "instance")}
          onConfirm={async () => {
            await report(chosen, "being deleted", (instance) => remove(instance.id));
            clear();
          }}
          lost={
            <>
              <p>Their disks, backups, configurations and addresses are given up for good. They stop costing money.</p>
              <p className="quiet">{chosen.map((instance) => instance.label).join(", ")}</p>
            </>
          }
        />
      )}
    </>
  );
}

function Tag({ chosen, onClose }: { chosen: Instance[]; onClose: () => void }) {
  const cache = useQueryClient();
  const known = useQuery(tags).data?.data.map((tag) => tag.label) ?? [];
  const form = useForm({ initialValues: { tags: [] as string[] } });
  const sending = useSending(
    form,
    ({ tags }) => report(chosen, "tagged", (instance) => update(instance.id, { tags: [...new Set([...instance.tags, ...tags])] })),
    async () => {
      onClose();
      await cache.invalidateQueries({ queryKey: ["instances", "list"] });
      await cache.invalidateQueries({ queryKey: ["tags"] });
    },
  );
  return (
    <FormDialog title={`Tag ${count(chosen.length, "instance")}`} sending={sending} submit="Add tags" onClose={onClose} held={form.values.tags.length === 0 && "There is no tag to add yet"}>
      <TagsInput label="Tags" description="Added to those they have. Enter after each." data={known} {...form.getInputProps("tags")} data-autofocus />
    </FormDialog>
  );
}

/** Says at the end how it went. */
async function report(items: Instance[], done: string, order: (instance: Instance) => Promise<unknown>): Promise<void> {
  const failed = await atOnce(items, order);
  const well = items.length - failed.length;
  if (well > 0) notifications.show({ message: `${count(well, "instance")} ${done}`, color: "croft" });
  for (const { item, error } of failed.slice(0, 4)) notifications.show({ title: item.label, message: error instanceof Error ? error.message : String(error), color: "red.8" });
  if (failed.length > 4) notifications.show({ message: `${failed.length - 4} more were refused`, color: "red.8" });
}
