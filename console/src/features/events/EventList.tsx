/** Events one below the other, as the page and the drawer show them. */
import { useClipboard } from "@mantine/hooks";

import type { Event } from "../../api/client";
import { isUnderWay } from "../../live/progress";
import { Ago } from "../../ui/Cell";
import { Icon } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { placeOf } from "../../ui/places";
import { RowLink } from "../../ui/RowLink";
import { ProgressBar } from "../../ui/Status";
import css from "./Events.module.css";
import { sentence } from "./sentence";

interface Props {
  events: readonly Event[];
  /** Marks this event, and all before it, as seen; without it rows have no such button. */
  onSeen?: (event: Event) => void;
  /** Where the newest event lies that has been seen: a line is drawn above it. */
  line?: number;
  onLeave?: () => void;
}

export function EventList({ events, onSeen, line, onLeave }: Props) {
  return (
    <ol className={css.list}>
      {events.map((event) => (
        <li key={event.id} data-status={event.status} data-unseen={!event.seen || undefined} data-line={event.id === line || undefined}>
          {event.id === line && <span className={css.line}>Seen up to here</span>}
          <Mark event={event} />
          <div className={css.what}>
            <What event={event} onLeave={onLeave} />
            <span className={css.who}>
              {event.username ?? "system"}, <Ago time={event.created} />
              {!isUnderWay(event) && event.duration ? `, took ${lasted(event.duration)}` : ""}
            </span>
            {event.message && <span className={css.message}>{event.message}</span>}
            {isUnderWay(event) && <ProgressBar event={event} />}
          </div>
          <div className={css.actions}>
            <CopyId id={event.id} />
            {onSeen && !event.seen && <IconButton icon="check" label={`Mark as seen up to event ${event.id}`} title="Seen up to here" onClick={() => onSeen(event)} />}
          </div>
        </li>
      ))}
    </ol>
  );
}

function lasted(seconds: number): string {
  return seconds < 90 ? `${+seconds.toFixed(seconds < 10 ? 1 : 0)} s` : `${Math.round(seconds / 60)} min`;
}

function What({ event, onLeave }: { event: Event; onLeave?: () => void }) {
  const { before, subject, after } = sentence(event);
  const place = event.action.endsWith("_delete") && event.status === "finished" ? undefined : placeOf(event.entity);
  const named = subject && (place ? <RowLink to={place} onClick={onLeave}>{subject}</RowLink> : <strong>{subject}</strong>);
  return (
    <span className={css.sentence}>
      {before}
      {named}
      {after}
      {!event.seen && <span className="unseen"> (not seen yet)</span>}
    </span>
  );
}

/** A shape of its own for each way it can stand. */
function Mark({ event }: { event: Event }) {
  const busy = isUnderWay(event);
  const failed = event.status === "failed";
  return (
    <span className={css.mark} data-tone={busy ? "busy" : failed ? "bad" : "good"} aria-hidden="true">
      <Icon name={busy ? "clock" : failed ? "cross" : event.status === "notification" ? "pencil" : "check"} size={14} />
    </span>
  );
}

function CopyId({ id }: { id: number }) {
  const { copied, copy } = useClipboard({ timeout: 1500 });
  return <IconButton icon={copied ? "check" : "copy"} label={`Copy id ${id}`} title={copied ? "Copied" : undefined} onClick={() => copy(id)} />;
}
