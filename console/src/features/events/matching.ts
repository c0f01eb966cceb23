/** What a list of events is narrowed to, and whether an event belongs into it. */
import type { Event } from "../../api/client";

export interface Search {
  actor?: string;
  /** `compute:7` for one object, `compute` for all of a type. */
  entity?: string;
  action?: string;
}

/** Whether an event that the stream told belongs into a list. The server does not filter by who did it: this does. */
export function matches(event: Event, { actor, entity, action }: Search): boolean {
  const [type, id] = entity?.split(":") ?? [];
  if (actor && (event.username ?? "system") !== actor) return false;
  if (type && event.entity?.type !== type) return false;
  if (id && String(event.entity?.id) !== id) return false;
  return !action || event.action.includes(action.toLowerCase());
}
