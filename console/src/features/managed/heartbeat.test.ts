import { expect, test } from "vitest";

import { beats } from "./heartbeat";

const NOW = Date.UTC(2026, 0, 10, 12);
const states = (created: string, outages: { from: string; to: string | null }[]) => beats(created, outages, NOW, 5).map((beat) => beat.state);

test("days before a service was made are neither good nor bad", () => {
  expect(states("2026-01-08T09:00:00", [])).toEqual(["before", "before", "ok", "ok", "ok"]);
});

test("an outage marks every day that it touches", () => {
  expect(states("2025-01-01T00:00:00", [{ from: "2026-01-07T23:00:00", to: "2026-01-08T01:00:00" }])).toEqual(["ok", "problem", "problem", "ok", "ok"]);
});

test("an outage that lasts marks today", () => {
  expect(states("2025-01-01T00:00:00", [{ from: "2026-01-10T11:00:00", to: null }])).toEqual(["ok", "ok", "ok", "ok", "problem"]);
});
