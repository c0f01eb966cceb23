/** Forms whose rules are the server's: what it refuses is said at the field that is to blame. */
import { Button } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { type FormEvent, type ReactNode, useState } from "react";

import { toFields } from "../api/errors";
import { Disabled } from "./Disabled";
import css from "./form.module.css";
import { Card, ErrorMessage, Page } from "./Page";

export interface Sending {
  /** What no field is to blame for. */
  problem: unknown;
  busy: boolean;
  onSubmit: (submit: FormEvent) => void;
}

/**
 * Sends a form. Reasons that name a field of it are put there, and the first of them gets the focus; the rest is
 * `problem`. What was typed stays whatever happens. `send` answers what `done` is given.
 */
export function useSending<V extends Record<string, unknown>, R>(form: UseFormReturnType<V>, send: (values: V) => Promise<R>, done: (result: R) => unknown): Sending {
  const [problem, setProblem] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  async function submit(): Promise<void> {
    setBusy(true);
    setProblem(null);
    form.clearErrors();
    try {
      await done(await send(form.getValues()));
    } catch (error) {
      const { fields, rest } = toFields(error, Object.keys(form.getValues()));
      form.setErrors(fields);
      if (rest.length > 0) setProblem(rest.length === (error as { reasons?: unknown[] }).reasons?.length ? error : new Error(rest.join(" ")));
      focusOn(Object.keys(fields)[0]);
    } finally {
      setBusy(false);
    }
  }
  return {
    problem,
    busy,
    onSubmit: (event) => {
      event.preventDefault();
      void submit();
    },
  };
}

/** `form.getInputProps` marks each field with its path. */
function focusOn(path: string | undefined): void {
  if (path) requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`)?.focus());
}

/** A page that is one form: fields in cards, what went wrong, and one button. */
export function FormPage(props: { title: string; lead?: ReactNode; back: { to: string; label: string }; sending: Sending; submit: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <Page title={props.title} lead={props.lead} back={props.back}>
      <form className={css.form} data-aside={props.aside ? true : undefined} onSubmit={props.sending.onSubmit} noValidate>
        <div className={css.cards}>
          {props.children}
          {props.sending.problem !== null && <ErrorMessage error={props.sending.problem} />}
          {!props.aside && <Submit sending={props.sending}>{props.submit}</Submit>}
        </div>
        {props.aside}
      </form>
    </Page>
  );
}

/** A form in a card of a page that holds other things too. `held` says why it cannot be sent; `quiet` where another button is the page's main one. */
export function FormCard(props: { title: string; lead?: ReactNode; sending: Sending; submit: string; held?: string; quiet?: boolean; children: ReactNode }) {
  return (
    <Card title={props.title}>
      <form onSubmit={props.sending.onSubmit} noValidate className={css.fields}>
        {props.lead && <p className="quiet">{props.lead}</p>}
        {props.children}
        {props.sending.problem !== null && <ErrorMessage error={props.sending.problem} />}
        <Submit sending={props.sending} held={props.held} quiet={props.quiet}>
          {props.submit}
        </Submit>
      </form>
    </Card>
  );
}

/** Fields below each other, or beside each other where there is space. */
export function Fields({ children, beside = false }: { children: ReactNode; beside?: boolean }) {
  return <div className={beside ? css.beside : css.fields}>{children}</div>;
}

function Submit({ sending, held, quiet, children }: { sending: Sending; held?: string; quiet?: boolean; children: ReactNode }) {
  return (
    <div>
      <Disabled reason={held}>
        <Button type="submit" variant={quiet ? "default" : "filled"} loading={sending.busy}>
          {children}
        </Button>
      </Disabled>
    </div>
  );
}
