import { expect, test } from "vitest";

import type { Event } from "../../api/client";
import { matches } from "./matching";
import { sentenceText } from "./sentence";

const event = (action: string, status: Event["status"], entity: Event["entity"] = null): Event =>
  ({ action, status, entity, id: 1, username: "ada", created: "2026-01-01T00:00:00" }) as Event;
const web = { id: 7, label: "web-1", type: "compute", url: null };

test("an event about an object names the object first, and says how it went", () => {
  expect(sentenceText(event("compute_boot", "finished", web))).toBe("web-1 was booted");
  expect(sentenceText(event("compute_resize", "started", web))).toBe("web-1 is being resized");
  expect(sentenceText(event("compute_resize", "failed", web))).toBe("web-1 could not be resized");
});

test("other things than instances are called what they are", () => {
  expect(sentenceText(event("ticket_create", "notification", { id: 1, label: "slow", type: "ticket", url: null }))).toBe("Ticket slow was created");
});

test("an event about a part of an object does not say that the object itself was changed", () => {
  expect(sentenceText(event("backups_enable", "notification", web))).toBe("web-1 is backed up from now on");
  expect(sentenceText(event("disk_delete", "finished", web))).toBe("Disk was deleted: web-1");
});

test("an action that is not known is said in its own words", () => {
  expect(sentenceText(event("moon_landing", "finished", web))).toBe("Moon landing: web-1");
});

test("an event of the stream is shown in a list only where the list's filters let it", () => {
  const boot = event("compute_boot", "finished", web);
  expect(matches(boot, {})).toBe(true);
  expect(matches(boot, { entity: "compute:7", actor: "ada", action: "boot" })).toBe(true);
  expect(matches(boot, { entity: "compute:8" })).toBe(false);
  expect(matches(boot, { actor: "bob" })).toBe(false);
  expect(matches(boot, { entity: "disk" })).toBe(false);
});
