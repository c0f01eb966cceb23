/** What the sandbox is asked and told. */
import { queryOptions } from "@tanstack/react-query";

import { askSandbox as ask } from "../../api/sandbox";

export interface State {
  version: string;
  driver: string;
  database: string;
  clock: { now: string; mode: "real" | "frozen" };
  counts: Record<string, number>;
}
export interface Fault {
  id: number;
  kind: string;
  [detail: string]: unknown;
}
export interface Mail {
  to: string;
  subject: string;
  text: string;
}
export interface Snapshot {
  name: string;
  created: string;
  bytes: number;
}
export type Transitions = Record<string, { seconds?: number; reads?: number; fail?: string; fail_at?: number }>;

export const state = queryOptions({ queryKey: ["sandbox", "state"], queryFn: () => ask<State>("") });
export const transitions = queryOptions({ queryKey: ["sandbox", "transitions"], queryFn: () => ask<Transitions>("/transitions") });
export const faults = queryOptions({ queryKey: ["sandbox", "faults"], queryFn: () => ask<Fault[]>("/faults") });
export const outbox = queryOptions({ queryKey: ["sandbox", "outbox"], queryFn: () => ask<{ mails: Mail[] }>("/outbox") });
export const snapshots = queryOptions({ queryKey: ["sandbox", "snapshots"], queryFn: () => ask<{ snapshots: Snapshot[] }>("/snapshots") });

export const freeze = () => ask("/clock/freeze", "POST");
export const thaw = () => ask("/clock/thaw", "POST");
export const advance = (seconds: number) => ask<{ now: string; operations: number }>("/clock/advance", "POST", { seconds });
export const settle = () => ask<{ now: string; operations: number }>("/settle", "POST", {});
export const tick = () => ask<{ now: string; operation: { action: string; step: string } | null }>("/clock/tick", "POST");
export const setTransitions = (table: unknown) => ask("/transitions", "PUT", table);
export const addFault = (fault: unknown) => ask("/faults", "POST", fault);
export const clearFaults = () => ask("/faults", "DELETE");
export const openAccount = (wanted: unknown) => ask<{ username: string; token: string }>("/accounts", "POST", wanted);
export const takeSnapshot = (name: string) => ask("/snapshots", "POST", { name });
export const restoreSnapshot = (name: string) => ask(`/snapshots/${encodeURIComponent(name)}/restore`, "POST");
export const deleteSnapshot = (name: string) => ask(`/snapshots/${encodeURIComponent(name)}`, "DELETE");
export const reset = () => ask("/reset", "POST");
