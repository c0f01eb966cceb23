/** What an event says, as a sentence: `web-1 was booted`, `web-1 could not be resized`. */
import type { Event } from "../../api/client";
import { isUnderWay } from "../../live/progress";
import { words } from "../../ui/words";

const DONE: Record<string, string> = {
  accept: "accepted", add: "added", addip: "given an address", attach: "attached", boot: "booted", cancel: "cancelled", clone: "cloned", create: "created",
  delete: "deleted", deleteip: "relieved of an address", detach: "detached", disable: "disabled", disabled: "disabled", duplicate: "copied", enable: "enabled",
  enabled: "enabled", imagize: "made into an image", import: "imported", migrate: "moved", mutate: "upgraded", reboot: "rebooted", rebuild: "rebuilt", remove: "removed",
  reset: "reset", resize: "resized", restore: "restored", shutdown: "shut down", snapshot: "backed up", submitted: "submitted", update: "changed", updated: "changed", upload: "uploaded",
};

/** What is not said well by its own words, once it has ended well. */
const OTHERWISE: Record<string, string> = {
  backups_cancel: "is no longer backed up",
  backups_enable: "is backed up from now on",
  lassie_reboot: "was rebooted by its watchdog",
  password_reset: "has a new root password",
  ticket_update: "was written to",
};

/** The words before the object's name, the name, if there is one, and the words after it. */
export interface Sentence {
  before: string;
  subject: string | null;
  after: string;
}

export function sentence(event: Event): Sentence {
  const parts = event.action.split("_");
  const done = DONE[parts.at(-1) ?? ""];
  const noun = parts.slice(0, -1).join("_");
  const label = event.entity?.label ?? null;
  const otherwise = OTHERWISE[event.action];
  // An instance is known by its name alone; of other things one wants to know what they are.
  const sort = event.entity && event.entity.type !== "compute" ? `${words(event.entity.type)} ` : "";
  if (otherwise && label && !isUnderWay(event) && event.status !== "failed") return { before: sort, subject: label, after: ` ${otherwise}` };
  if (!done) return { before: words(event.action) + (label ? ": " : ""), subject: label, after: "" };
  const was = isUnderWay(event) ? (event.status === "scheduled" ? "is about to be" : "is being") : event.status === "failed" ? "could not be" : "was";
  if (label && event.entity?.type === noun) return { before: sort, subject: label, after: ` ${was} ${done}` };
  return { before: `${words(noun)} ${was} ${done}${label ? ": " : ""}`, subject: label, after: "" };
}

export function sentenceText(event: Event): string {
  const { before, subject, after } = sentence(event);
  return `${before}${subject ?? ""}${after}`;
}
