/** How a service has fared day by day, as far as its issues and their tickets tell. */
import { moment } from "../../ui/words";

export interface Outage {
  from: string;
  /** Null while it lasts. */
  to: string | null;
}
export interface Beat {
  /** The start of the day, in milliseconds. */
  day: number;
  state: "before" | "ok" | "problem";
}

const DAY = 86_400_000;

/** The last `days` days up to `now`, oldest first. Days before the service was made are neither good nor bad. */
export function beats(created: string, outages: readonly Outage[], now: number, days = 30): Beat[] {
  const today = Math.floor(now / DAY) * DAY;
  const made = moment(created).getTime();
  return Array.from({ length: days }, (_, index) => {
    const day = today - (days - 1 - index) * DAY;
    const end = day + DAY;
    const down = outages.some(({ from, to }) => moment(from).getTime() < end && (to === null ? now : moment(to).getTime()) >= day);
    return { day, state: down ? "problem" : end <= made ? "before" : "ok" };
  });
}
