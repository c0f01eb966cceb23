import { Button, PasswordInput, Skeleton } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { Refused } from "../../api/errors";
import { askSandbox, showKey } from "../../api/sandbox";
import { ConfirmByLabel } from "../../ui/Confirm";
import { FormCard, useSending } from "../../ui/form";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { count, moment, words } from "../../ui/words";
import { Accounts, Faults, Outbox, Snapshots, TransitionsCard } from "./Cards";
import { advance, freeze, reset, settle, state, thaw, tick } from "./queries";
import css from "./Sandbox.module.css";

const STEPS: [string, number][] = [
  ["A minute", 60],
  ["An hour", 3600],
  ["A day", 86_400],
  ["A week", 604_800],
  ["30 days", 2_592_000],
];

/** Everything may be different after time was moved or the world was put back. */
export function useMoved() {
  const cache = useQueryClient();
  return () => cache.invalidateQueries();
}

export default function Sandbox() {
  const query = useQuery(state);
  const moved = useMoved();
  const [confirming, setConfirming] = useState(false);
  return (
    <Page
      title="Sandbox"
      lead="Machines, mail and payments are simulated here, and time can be moved."
      actions={
        <Button variant="default" onClick={() => setConfirming(true)}>
          Start over
        </Button>
      }
    >
      {query.isError && (query.error instanceof Refused && query.error.status === 401 ? <Key /> : <ErrorMessage error={query.error} again={() => void query.refetch()} />)}
      {query.data && <div className={css.grid}>
        <div className={css.column}>
          <Clock />
          <TransitionsCard />
          <Accounts />
        </div>
        <div className={css.column}>
          <Faults />
          <Snapshots />
          <Outbox />
          {query.data && (
            <Card title="What there is">
              <p className={`${css.counts} figures`}>
                {Object.entries(query.data.counts).map(([name, number]) => (
                  <span key={name}>
                    {number} {name}
                  </span>
                ))}
                <span>
                  {query.data.database}, version {query.data.version}
                </span>
              </p>
            </Card>
          )}
        </div>
      </div>}
      <ConfirmByLabel
        opened={confirming}
        onClose={() => setConfirming(false)}
        verb="Empty the"
        label="sandbox"
        lost={<p>Every account and all that belongs to it is removed, as at the first start. You will have to sign in again.</p>}
        onConfirm={async () => {
          await reset();
          await moved();
        }}
      />
    </Page>
  );
}

/** A sandbox that is reached from elsewhere asks for the key that its server was started with. */
function Key() {
  const moved = useMoved();
  const form = useForm({ initialValues: { key: "" } });
  const sending = useSending(
    form,
    async ({ key }) => {
      showKey(key);
      await askSandbox("");
    },
    moved,
  );
  return (
    <FormCard title="This sandbox wants its key" lead="Its server was started with CROFTER_SANDBOX_KEY. It is kept until this page is closed, and nowhere else." sending={sending} submit="Show the key">
      <PasswordInput label="Key" autoComplete="off" data-autofocus visibilityToggleButtonProps={{ "aria-label": "Show what is typed" }} {...form.getInputProps("key")} />
    </FormCard>
  );
}

function Clock() {
  const { data, dataUpdatedAt } = useQuery(state);
  const moved = useMoved();
  const [busy, setBusy] = useState("");
  const [outcome, setOutcome] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const [, turn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => turn((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  async function act(name: string, order: () => Promise<unknown>): Promise<void> {
    setBusy(name);
    setProblem(null);
    try {
      setOutcome(inWords(await order()));
      await moved();
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy("");
    }
  }
  if (!data) return <Skeleton height={220} radius={10} />;
  const stands = data.clock.mode === "frozen";
  const now = new Date(moment(data.clock.now).getTime() + (stands ? 0 : Date.now() - dataUpdatedAt));
  const button = (name: string, order: () => Promise<unknown>) => (
    <Button key={name} variant="default" loading={busy === name} disabled={busy !== "" && busy !== name} onClick={() => void act(name, order)}>
      {name}
    </Button>
  );
  return (
    <Card title="Clock">
      <div className={`${css.clock} figures`}>
        <strong>{now.toLocaleTimeString(undefined, { timeZone: "UTC" })}</strong>
        <span className="quiet">
          {now.toLocaleDateString(undefined, { dateStyle: "full", timeZone: "UTC" })}, UTC; {stands ? "the clock stands" : "the clock runs"}
        </span>
      </div>
      <div className={css.row}>
        {stands ? button("Let it run", thaw) : button("Stop the clock", freeze)}
        {button("Finish what is under way", settle)}
        {stands && button("Do one step", tick)}
      </div>
      <div className={css.row} role="group" aria-labelledby="forward">
        <span id="forward" className={css.forward}>
          Move forward by
        </span>
        {STEPS.map(([name, seconds]) => button(name, () => advance(seconds)))}
      </div>
      <p className={css.outcome} role="status">
        {outcome || "Moving forward does all that falls due on the way, bills included."}
      </p>
      {problem !== null && <ErrorMessage error={problem} />}
    </Card>
  );
}

function inWords(answer: unknown): string {
  const moved = answer as { operations?: number; operation?: { action: string; step: string } | null };
  if (moved.operations !== undefined) return `${count(moved.operations, "operation")} came to an end.`;
  if (moved.operation) return `${words(moved.operation.action)}: ${words(moved.operation.step)} is done.`;
  return moved.operation === null ? "Nothing is due." : "";
}
