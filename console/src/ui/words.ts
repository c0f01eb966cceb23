/** How the server speaks: times, amounts and names, the same everywhere. */
const LANGUAGE = navigator.language || "en";
const relative = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "auto", style: "long" });
const cents = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const fine = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 3, maximumFractionDigits: 4 });

/** `shutting_down` as a person says it. */
export function words(name: string): string {
  const plain = name.replace(/^compute_/, "").replaceAll("_", " ");
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}

/** The API's date-times are UTC and do not say so. */
export function moment(text: string): Date {
  return new Date(`${text}Z`);
}

export function money(amount: number): string {
  return cents.format(amount);
}

export function perHour(amount: number): string {
  return fine.format(amount);
}

export function size(megabytes: number): string {
  if (megabytes >= 1024 * 1000) return `${+(megabytes / 1024 / 1024).toFixed(2)} TB`;
  return megabytes >= 1024 ? `${+(megabytes / 1024).toFixed(1)} GB` : `${megabytes} MB`;
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function ago(text: string, now: number): string {
  const seconds = (now - moment(text).getTime()) / 1000;
  for (const [unit, length] of STEPS) if (Math.abs(seconds) >= length) return relative.format(-Math.round(seconds / length), unit);
  return "just now";
}

/** `00:00:07` as `7 s left`. Where the server does not say, what it took so far tells, once there is enough of it. */
export function about(remaining: string | null, taken = 0, percent = 0): string {
  const guess = percent >= 10 && percent < 100 ? Math.max(1, Math.round((taken * (100 - percent)) / percent)) : 0;
  if (!remaining && !guess) return "";
  const [hours = 0, minutes = 0, seconds = 0] = remaining ? remaining.split(":").map(Number) : [Math.floor(guess / 3600), Math.floor(guess / 60) % 60, guess % 60];
  if (hours) return `${hours} h ${minutes} min left`;
  if (minutes) return `${minutes + (seconds > 30 ? 1 : 0)} min left`;
  return `${seconds} s left`;
}

// Made once for a zone: to make one takes a hundred times as long as to use it, and every row of a list has a time.
let times = formats(undefined);

/** The zone that times are shown in: the user's, from the profile. Unknown ones are the browser's. */
export function showTimesIn(name: string | undefined): void {
  try {
    times = formats(name);
  } catch {
    times = formats(undefined);
  }
}

function formats(timeZone: string | undefined) {
  return {
    full: new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeStyle: "short", timeZone }),
    day: new Intl.DateTimeFormat(LANGUAGE, { dateStyle: "medium", timeZone }),
  };
}

/** Date and time as people of this language write them, with the zone. */
export function fullTime(text: string): string {
  return times.full.format(moment(text));
}

export function day(text: string): string {
  return times.day.format(moment(text));
}

export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${number.toLocaleString(LANGUAGE)} ${number === 1 ? singular : plural}`;
}
