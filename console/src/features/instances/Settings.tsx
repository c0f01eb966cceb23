import { Button, Checkbox, TagsInput, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";

import { Disabled } from "../../ui/Disabled";
import { FormCard, useSending } from "../../ui/form";
import { Card } from "../../ui/Page";
import { usePermissions } from "../profile/permissions";
import { tags } from "./choices";
import { DeleteInstance } from "./DeleteInstance";
import { instanceById, legacyTypes, update } from "./queries";
import css from "./Settings.module.css";
import { type Subject, useSubject } from "./subject";

const Clone = lazy(() => import("./operations/Clone"));
const Migrate = lazy(() => import("./operations/Migrate"));
const Mutate = lazy(() => import("./operations/Mutate"));
const Password = lazy(() => import("./operations/Password"));
const Rebuild = lazy(() => import("./operations/Rebuild"));
const Rescue = lazy(() => import("./operations/Rescue"));
const Resize = lazy(() => import("./operations/Resize"));
const DIALOGS = { resize: Resize, rebuild: Rebuild, rescue: Rescue, password: Password, clone: Clone, migrate: Migrate, mutate: Mutate };
type Operation = keyof typeof DIALOGS;

export default function Settings() {
  const subject = useSubject();
  const { instance, denied } = subject;
  const navigate = useNavigate();
  const [asked, setAsked] = useState<Operation | "delete" | null>(null);
  const close = () => setAsked(null);
  const Dialog = asked && asked !== "delete" ? DIALOGS[asked] : null;
  return (
    <div className={css.stack}>
      <General key={instance.id} subject={subject} />
      <Operations subject={subject} onAsk={setAsked} />
      <Card title="Delete">
        <div className={css.row}>
          <div>
            <p>The instance, its disks, its backups and its addresses are gone at once, and it stops costing money.</p>
          </div>
          <Disabled reason={denied}>
            <Button variant="default" c="var(--bad)" onClick={() => setAsked("delete")}>
              Delete instance…
            </Button>
          </Disabled>
        </div>
      </Card>
      {asked === "delete" && <DeleteInstance instance={instance} onClose={close} onGone={() => navigate({ to: "/instances", search: {} })} />}
      {Dialog && (
        <Suspense fallback={null}>
          <Dialog instance={instance} onClose={close} />
        </Suspense>
      )}
    </div>
  );
}

function General({ subject: { instance, denied } }: { subject: Subject }) {
  const cache = useQueryClient();
  const known = useQuery(tags).data?.data.map((tag) => tag.label) ?? [];
  const form = useForm({ initialValues: { label: instance.label, tags: instance.tags, watchdog_enabled: instance.watchdog_enabled } });
  const sending = useSending(
    form,
    (values) => update(instance.id, values),
    async (changed) => {
      cache.setQueryData(instanceById(instance.id).queryKey, changed);
      form.resetDirty();
      notifications.show({ message: "The settings are saved", color: "croft" });
      await cache.invalidateQueries({ queryKey: ["instances", "list"] });
      await cache.invalidateQueries({ queryKey: ["tags"] });
    },
  );
  return (
    <FormCard title="General" sending={sending} submit="Save settings" held={denied}>
      <div className={css.pairs}>
        <TextInput label="Name" autoComplete="off" {...form.getInputProps("label")} />
        <TagsInput label="Tags" placeholder="Enter after each" data={known} {...form.getInputProps("tags")} />
      </div>
      <Checkbox label="Watchdog" description="Boots it again when it goes off by itself" {...form.getInputProps("watchdog_enabled", { type: "checkbox" })} />
    </FormCard>
  );
}

function Operations({ subject: { instance, held }, onAsk }: { subject: Subject; onAsk: (asked: Operation) => void }) {
  const create = usePermissions().create("add_computes");
  const legacy = useQuery(legacyTypes).data?.data.find((type) => type.id === instance.type);
  const refusedWhileOn = instance.status !== "offline" ? "Shut it down first" : undefined;
  const rows: { asked: Operation; title: string; says: string; button: string; reason?: string }[] = [
    { asked: "resize", title: "Resize", says: "To a smaller or larger plan. It is shut down meanwhile, and booted again if it was running.", button: "Resize…" },
    { asked: "rebuild", title: "Rebuild", says: "Everything on it is deleted, and an image is put on fresh disks. Its addresses stay.", button: "Rebuild…" },
    { asked: "rescue", title: "Rescue", says: "Boots a small system beside your disks, to mend what does not boot any more.", button: "Rescue…" },
    { asked: "password", title: "Root password", says: "Sets a new one. With several disks, do it on the page of disks.", button: "Reset password…", reason: refusedWhileOn },
    { asked: "clone", title: "Clone", says: "A copy of its disks and configurations, as a new instance or in one that you have.", button: "Clone…", reason: refusedWhileOn ?? create },
    { asked: "migrate", title: "Move to another region", says: "Its disks are copied there. It gets new addresses, and is off meanwhile.", button: "Move…" },
    {
      asked: "mutate",
      title: "Upgrade to the new generation",
      says: legacy ? `Its plan ${legacy.label} is of an old generation; the new one gives more for the same price.` : "For instances of an old generation of plans.",
      button: "Upgrade…",
      reason: legacy?.successor ? undefined : "Its plan is of the newest generation",
    },
  ];
  return (
    <Card title="Operations">
      <div className={css.list}>
        {rows.map(({ asked, title, says, button, reason }) => (
          <div key={asked} className={css.row}>
            <div>
              <h3>{title}</h3>
              <p>{says}</p>
            </div>
            <Disabled reason={held ?? reason}>
              <Button variant="default" onClick={() => onAsk(asked)}>
                {button}
              </Button>
            </Disabled>
          </div>
        ))}
      </div>
    </Card>
  );
}
