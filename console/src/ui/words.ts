/** How the server speaks: times, amounts and names, the same everywhere. */
const LANGUAGE = navigator.language || "en";
// The first use of Intl takes a tab 35 ms, in which it reads which languages there are. What rows of a list show is
// written without it where that is the same, and the rest when somebody first needs it.
const relative = later(() => new Intl.RelativeTimeFormat(LANGUAGE, { numeric: "auto", style: "long" }));
const cents = later(() => new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" }));
const fine = later(() => new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 3, maximumFractionDigits: 4 }));

function later<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

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
  const [whole = "", fraction = ""] = Math.abs(amount).toFixed(2).split(".");
  if (Number(`${whole}.${fraction}`) !== Math.abs(amount) || amount >= 1e15) return cents().format(amount); // rounded as money is
  return `${amount < 0 ? "-" : ""}$${grouped(whole)}.${fraction}`;
}

const grouped = (digits: string): string => digits.replace(/\B(?=(\d{3})+$)/g, ",");

export function perHour(amount: number): string {
  return fine().format(amount);
}

export function size(megabytes: number): string {
  if (megabytes >= 1024 * 1000) return `${+(megabytes / 1024 / 1024).toFixed(2)} TB`;
  return megabytes >= 1024 ? `${+(megabytes / 1024).toFixed(1)} GB` : `${megabytes} MB`;
}

const STEPS: ["year" | "month" | "day" | "hour" | "minute", number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function ago(text: string, now: number): string {
  const seconds = (now - moment(text).getTime()) / 1000;
  for (const [unit, length] of STEPS) if (Math.abs(seconds) >= length) return inWords(-Math.round(seconds / length), unit, LANGUAGE);
  return "just now";
}

const ENGLISH = /^en(-US|-GB)?$/;

/** `-3`, `day`: 3 days ago. */
export function inWords(amount: number, unit: (typeof STEPS)[number][0], language: string): string {
  if (!ENGLISH.test(language)) return relative().format(amount, unit);
  const many = Math.abs(amount);
  if (many !== 1 || unit === "hour" || unit === "minute") return amount < 0 ? `${counted(many, unit)} ago` : `in ${counted(many, unit)}`;
  if (unit === "day") return amount < 0 ? "yesterday" : "tomorrow";
  return `${amount < 0 ? "last" : "next"} ${unit}`;
}

const counted = (many: number, unit: string) => `${grouped(String(many))} ${unit}${many === 1 ? "" : "s"}`;

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
  times = formats(name);
}

function formats(timeZone: string | undefined) {
  return { full: later(() => format({ dateStyle: "medium", timeStyle: "short", timeZone })), day: later(() => format({ dateStyle: "medium", timeZone })) };
}

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat(LANGUAGE, options);
  } catch {
    return new Intl.DateTimeFormat(LANGUAGE, { ...options, timeZone: undefined });
  }
}

/** Date and time as people of this language write them, with the zone. */
export function fullTime(text: string): string {
  return times.full().format(moment(text));
}

export function day(text: string): string {
  return times.day().format(moment(text));
}

export function count(number: number, singular: string, plural = `${singular}s`): string {
  const formatted = ENGLISH.test(LANGUAGE) && Number.isInteger(number) && number >= 0 ? grouped(String(number)) : number.toLocaleString(LANGUAGE);
  return `${formatted} ${number === 1 ? singular : plural}`;
}
