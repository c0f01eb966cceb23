/** When backups are made: the week as a strip, with the window of each day. */
import { Button, NativeSelect } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";

import type { Instance, Schemas } from "../../api/client";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { Card, ErrorMessage } from "../../ui/Page";
import css from "./Backups.module.css";
import { instanceById, update } from "./queries";

const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] as const;
const WINDOWS = Array.from({ length: 12 }, (_, place) => `W${place * 2}`);
const hours = (window: string) => {
  const start = Number(window.slice(1));
  const two = (hour: number) => `${String(hour % 24).padStart(2, "0")}:00`;
  return `${two(start)} to ${two(start + 2)} UTC`;
};

export function Schedule({ instance, denied }: { instance: Instance; denied: string | undefined }) {
  const cache = useQueryClient();
  const savedSchedule = instance.backups.schedule;
  const form = useForm({ initialValues: { day: savedSchedule.day ?? "Scheduling", window: savedSchedule.window ?? "Scheduling" } });
  const sending = useSending(
    form,
    (schedule) => update(instance.id, { backups: { schedule: schedule as Schemas["ScheduleUpdate"] } }),
    (changed) => {
      cache.setQueryData(instanceById(instance.id).queryKey, changed);
      notifications.show({ message: "The schedule is saved", color: "croft" });
    },
  );
  const { day, window } = form.values;
  const same = day === (savedSchedule.day ?? "Scheduling") && window === (savedSchedule.window ?? "Scheduling");
  const summary = window === "Scheduling" ? "Every day at a time that suits the server" : `Every day from ${hours(window)}`;
  return (
    <Card title="When" aside={<span className="quiet">{summary}{day === "Scheduling" ? "" : `; the weekly one on ${day}`}</span>}>
      <ul className={css.week} aria-label="The week">
        {DAYS.map((name) => (
          <li key={name} className={css.day} data-chosen={name === day || undefined}>
            <span aria-hidden="true">{name.slice(0, 2)}</span>
            <span className="unseen">
              {name}
              {name === day && ", the weekly backup is kept"}
            </span>
            <span className={css.windows} aria-hidden="true">
              {WINDOWS.map((each) => (
                <i key={each} data-chosen={each === window || undefined} />
              ))}
            </span>
          </li>
        ))}
      </ul>
      <form className={css.schedule} onSubmit={sending.onSubmit}>
        <NativeSelect label="Weekly backup of" data={[{ value: "Scheduling", label: "Any day" }, ...DAYS]} {...form.getInputProps("day")} />
        <NativeSelect label="Window" data={[{ value: "Scheduling", label: "Any time" }, ...WINDOWS.map((each) => ({ value: each, label: hours(each) }))]} {...form.getInputProps("window")} />
        <Disabled reason={denied ?? (same && "Nothing has changed")}>
          <Button type="submit" variant="default" loading={sending.busy}>
            Save schedule
          </Button>
        </Disabled>
      </form>
      {sending.problem !== null && <ErrorMessage error={sending.problem} />}
    </Card>
  );
}
