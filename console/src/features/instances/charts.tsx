/** What an instance has done over time, as charts. */
import { Skeleton } from "@mantine/core";
import { lazy, Suspense, useMemo } from "react";

import type { Schemas } from "../../api/client";
import css from "./charts.module.css";

const Series = lazy(() => import("../../ui/Series"));

export type Seen = Schemas["StatsData"];
export type AlertName = keyof Schemas["Alerts"];
export const percent = (value: number) => `${+value.toFixed(value < 10 ? 1 : 0)} %`;
export const bits = (value: number) => (value >= 1e9 ? `${+(value / 1e9).toFixed(1)} Gbit/s` : value >= 1e6 ? `${+(value / 1e6).toFixed(1)} Mbit/s` : `${Math.round(value / 1e3)} kbit/s`);
const blocks = (value: number) => `${Math.round(value)} /s`;

interface Chart {
  title: string;
  label: string;
  format: (value: number) => string;
  lines: (seen: Seen) => { label: string; points: number[][] }[];
  /** Which alert is drawn into it, and how its unit becomes the chart's. */
  alert?: { name: AlertName; times: number };
}

export const CPU: Chart = { title: "Processor", label: "Processor use", format: percent, lines: (seen) => [{ label: "CPU", points: seen.cpu }], alert: { name: "cpu", times: 1 } };
export const NET4: Chart = {
  title: "Network",
  label: "Network traffic",
  format: bits,
  lines: ({ netv4 }) => [{ label: "In", points: netv4.in }, { label: "Out", points: netv4.out }],
  alert: { name: "network_in", times: 1e6 },
};
export const IO: Chart = { title: "Disk", label: "Disk input and output, in blocks", format: blocks, lines: ({ io }) => [{ label: "Disk", points: io.io }, { label: "Swap", points: io.swap }], alert: { name: "io", times: 1 } };
export const NET6: Chart = { title: "Network, IPv6", label: "Network traffic by IPv6", format: bits, lines: ({ netv6 }) => [{ label: "In", points: netv6.in }, { label: "Out", points: netv6.out }] };
export const PRIVATE: Chart = {
  title: "Private network",
  label: "Traffic in the private network",
  format: bits,
  lines: ({ netv4 }) => [{ label: "In", points: netv4.private_in }, { label: "Out", points: netv4.private_out }],
};

interface ChartProps {
  chart: Chart;
  seen?: Seen;
  alerts?: Partial<Record<AlertName, number>>;
  /** With it the line of the alert can be moved. */
  onAlert?: (name: AlertName, value: number) => void;
  height?: number;
}

export function ChartOf({ chart, seen, alerts, onAlert, height = 180 }: ChartProps) {
  const lines = useMemo(() => (seen ? chart.lines(seen) : []), [chart, seen]);
  const at = chart.alert && alerts?.[chart.alert.name];
  const alert = chart.alert;
  const onMove = onAlert && alert && ((value: number) => onAlert(alert.name, Math.round(value / alert.times)));
  const limit = at && alert ? { value: at * alert.times, step: alert.times, label: "Alert", onMove } : undefined;
  const waiting = <Skeleton height={height} />;
  return (
    <div className={css.chart}>
      <h2>{chart.title}</h2>
      {seen ? (
        <Suspense fallback={waiting}>
          <Series label={chart.label} lines={lines} format={chart.format} limit={limit} height={height} />
        </Suspense>
      ) : (
        waiting
      )}
    </div>
  );
}
