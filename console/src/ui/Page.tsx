/** The frame of every page: where it is, what it is called, what can be done, and what went wrong. */
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";

import { Refused } from "../api/errors";
import { inOwnWords } from "./command";
import { Icon, type IconName } from "./Icon";
import css from "./Page.module.css";
import { Rename } from "./Rename";

/** Whether a page has been shown since the console was loaded. */
let shown = false;

/** With `onRename` the title is a name that can be changed in place; `renameHeld` says why not. */
export function Page(props: { title: string; lead?: ReactNode; back?: { to: string; label: string }; actions?: ReactNode; children: ReactNode; wide?: boolean; onRename?: (label: string) => Promise<unknown>; renameHeld?: string }) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${props.title} · crofter`;
  }, [props.title]);
  useEffect(() => {
    // What had the focus went with the page before: the new title is told to those who listen. Not at the first page.
    if (shown && (document.activeElement === document.body || document.activeElement === null)) title.current?.focus({ preventScroll: true });
    shown = true;
  }, []);
  return (
    <div className={css.page} data-wide={props.wide || undefined}>
      {props.back && (
        <Link to={props.back.to} className={css.back}>
          <Icon name="left" size={14} /> {props.back.label}
        </Link>
      )}
      <header className={css.header}>
        <div>
          {props.onRename ? (
            <Rename label={props.title} held={props.renameHeld} onRename={props.onRename}>
              <h1 tabIndex={-1} ref={title}>{props.title}</h1>
            </Rename>
          ) : (
            <h1 tabIndex={-1} ref={title}>{props.title}</h1>
          )}
          {props.lead && <div className={css.lead}>{props.lead}</div>}
        </div>
        {props.actions && <div className={css.actions}>{props.actions}</div>}
      </header>
      {props.children}
    </div>
  );
}

export function Card({ title, aside, children, flush = false }: { title?: string; aside?: ReactNode; children: ReactNode; flush?: boolean }) {
  return (
    <section className={css.card} data-flush={flush || undefined}>
      {title && (
        <div className={css.cardHead}>
          <h2>{title}</h2>
          {aside}
        </div>
      )}
      {children}
    </section>
  );
}

/** Nothing here yet: what this is for, one button, and the same as a command. */
export function Empty({ icon, title, children, action, command }: { icon: IconName; title: string; children: ReactNode; action?: ReactNode; command?: string }) {
  return (
    <div className={css.empty}>
      <span className={css.emptyIcon}>
        <Icon name={icon} size={26} />
      </span>
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
      {command && (
        <pre className={css.command} tabIndex={0} role="region" aria-label="The same as a command">
          {inOwnWords(command)}
        </pre>
      )}
    </div>
  );
}

export function ErrorMessage({ error, again }: { error: unknown; again?: () => void }) {
  const refused = error instanceof Refused ? error : null;
  return (
    <div className={css.error} role="alert">
      <Icon name="warn" />
      <div>
        <strong>{refused?.status === 404 ? "This is not here" : "This did not work"}</strong>
        <p>{error instanceof Error ? error.message : String(error)}</p>
        {refused?.requestId && <p className="quiet">Request <code>{refused.requestId}</code></p>}
      </div>
      {again && (
        <Button variant="default" size="xs" onClick={again}>
          Try again
        </Button>
      )}
    </div>
  );
}
