import { NativeSelect, NumberInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Instance } from "../../api/client";
import { Refused } from "../../api/errors";
import { FormCard, useSending } from "../../ui/form";
import { useNow } from "../../ui/now";
import { Card, ErrorMessage } from "../../ui/Page";
import { moment } from "../../ui/words";
import { type AlertName, ChartOf, CPU, IO, NET4, NET6, PRIVATE } from "./charts";
import css from "./charts.module.css";
import { instanceById, monthStats, monthTransfer, stats, transfer, update } from "./queries";
import { useSubject } from "./subject";

const ALERTS: { name: AlertName; label: string; unit: string }[] = [
  { name: "cpu", label: "Processor", unit: "%" },
  { name: "io", label: "Disk", unit: "blocks/s" },
  { name: "network_in", label: "Network in", unit: "Mbit/s" },
  { name: "network_out", label: "Network out", unit: "Mbit/s" },
  { name: "transfer_quota", label: "Transfer", unit: "% of quota" },
];

export default function Graphs() {
  const { instance, denied } = useSubject();
  const [span, setSpan] = useState("");
  const form = useForm({ initialValues: { ...instance.alerts } });
  const [year = 0, month = 0] = span.split("-").map(Number);
  const query = useQuery(span ? monthStats(instance.id, year, month) : stats(instance.id));
  const seen = query.data?.data;
  return (
    <div className={css.stack}>
      <Span instance={instance} value={span} onChange={setSpan} />
      {query.error instanceof Refused && query.error.status === 400 ? (
        <Card title="Nothing measured">
          <p className="quiet">{query.error.message} The first figures come a few minutes after the first boot.</p>
        </Card>
      ) : query.error ? (
        <ErrorMessage error={query.error} again={() => void query.refetch()} />
      ) : (
        <div className={css.pair}>
          {[CPU, IO, NET4, NET6, PRIVATE].map((chart) => (
            <Card key={chart.title}>
              <ChartOf chart={chart} seen={seen} alerts={form.values} onAlert={denied === undefined ? form.setFieldValue : undefined} height={190} />
            </Card>
          ))}
          <Transfer id={instance.id} span={span} />
        </div>
      )}
      <Alerts instance={instance} denied={denied} form={form} />
    </div>
  );
}

const MONTH = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });

/** The last day, or one of the months since it was made. */
function Span({ instance, value, onChange }: { instance: Instance; value: string; onChange: (span: string) => void }) {
  const now = new Date(useNow());
  const createdAt = moment(instance.created);
  const months: { value: string; label: string }[] = [];
  for (let back = 0; back < 24; back++) {
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1));
    months.push({ value: `${start.getUTCFullYear()}-${start.getUTCMonth() + 1}`, label: MONTH.format(start) });
    if (start <= createdAt) break;
  }
  return (
    <NativeSelect w={220} aria-label="Time that the charts show" value={value} onChange={(change) => onChange(change.currentTarget.value)} data={[{ value: "", label: "Last 24 hours" }, ...months]} />
  );
}

const bytes = (value: number) => (value >= 1e9 ? `${+(value / 1e9).toFixed(1)} GB` : value >= 1e6 ? `${+(value / 1e6).toFixed(1)} MB` : `${Math.round(value / 1e3)} kB`);

function Transfer({ id, span }: { id: number; span: string }) {
  const [year = 0, month = 0] = span.split("-").map(Number);
  const now = useQuery({ ...transfer(id), enabled: !span });
  const then = useQuery({ ...monthTransfer(id, year, month), enabled: Boolean(span) });
  if (span)
    return (
      <Card title="Transfer in this month">
        <p className={`${css.used} figures`}>
          <strong>{then.data ? bytes(then.data.bytes_total) : "–"}</strong>
          {then.data && (
            <span className="quiet">
              {bytes(then.data.bytes_in)} in, {bytes(then.data.bytes_out)} out
            </span>
          )}
        </p>
      </Card>
    );
  const share = now.data?.quota ? Math.min(1, now.data.used / (now.data.quota * 1e9)) : 0;
  return (
    <Card title="Transfer this month">
      <p className={`${css.used} figures`}>
        <strong>{now.data ? bytes(now.data.used) : "–"}</strong>
        {now.data && <span className="quiet">of {now.data.quota} GB that the plan includes</span>}
      </p>
      <div className={css.track} role="img" aria-label={`${Math.round(share * 100)} % used`}>
        <div style={{ width: `${share * 100}%` }} />
      </div>
      {now.data && now.data.billable > 0 && <p className="quiet">{now.data.billable} GB are beyond it and will be charged for.</p>}
    </Card>
  );
}

type Form = ReturnType<typeof useForm<Instance["alerts"]>>;

/** The lines in the charts move as one types; they count once they are saved. */
function Alerts({ instance, denied, form }: { instance: Instance; denied: string | undefined; form: Form }) {
  const cache = useQueryClient();
  const sending = useSending(
    form,
    (alerts) => update(instance.id, { alerts }).catch(bare),
    (changed) => {
      cache.setQueryData(instanceById(instance.id).queryKey, changed);
      notifications.show({ message: "The alerts are saved", color: "croft" });
    },
  );
  return (
    <FormCard title="Alerts" lead="You get a mail when the average of two hours is above one of these. 0 turns it off. The dashed line in a chart is its alert, and can be dragged." sending={sending} submit="Save alerts" held={denied}>
      <div className={css.alerts}>
        {ALERTS.map(({ name, label, unit }) => (
          <NumberInput key={name} label={label} suffix={` ${unit}`} min={0} allowDecimal={false} allowNegative={false} readOnly={denied !== undefined} {...form.getInputProps(name)} data-path={name} />
        ))}
      </div>
    </FormCard>
  );
}

/** A reason about `alerts.cpu` belongs to the field `cpu`. */
function bare(error: unknown): never {
  if (error instanceof Refused) for (const reason of error.reasons) reason.field = reason.field?.replace(/^alerts\./, "");
  throw error;
}
