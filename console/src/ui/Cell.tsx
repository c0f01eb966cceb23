/** Parts of cells that many lists share: two lines, tags, a time. */
import type { ReactNode } from "react";

import css from "./Cell.module.css";
import { useNow } from "./now";
import { ago, fullTime } from "./words";

export function TwoLines({ children, under }: { children: ReactNode; under: ReactNode }) {
  return (
    <>
      {children}
      <span className={css.under}>{under}</span>
    </>
  );
}

export function Tags({ tags }: { tags: readonly string[] }) {
  return tags.map((tag) => (
    <span key={tag} className={css.tag}>
      {tag}
    </span>
  ));
}

export function TagsAndAge({ of }: { of: { tags: readonly string[]; created: string } }) {
  return (
    <>
      <Tags tags={of.tags} />
      <Ago time={of.created} />
    </>
  );
}

/** How long ago, and on pointing the time itself, in the zone of the user. */
export function Ago({ time }: { time: string }) {
  const now = useNow();
  return (
    <time dateTime={`${time}Z`} onMouseEnter={(event) => (event.currentTarget.title = fullTime(time))}>
      {ago(time, now)}
    </time>
  );
}

/** A date and time in the zone of the user. */
export function Time({ time }: { time: string }) {
  return <time dateTime={`${time}Z`}>{fullTime(time)}</time>;
}
