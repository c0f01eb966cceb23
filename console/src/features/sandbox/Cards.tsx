/** Parts of the sandbox page: how long things take, what goes wrong, who is there, what was kept and what was sent. */
import { Button, NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Fields, FormCard, useSending } from "../../ui/form";
import { Card, ErrorMessage } from "../../ui/Page";
import { SecretDialog } from "../../ui/SecretDialog";
import { addFault, clearFaults, deleteSnapshot, type Fault, faults, openAccount, outbox, restoreSnapshot, setTransitions, snapshots, takeSnapshot, type Transitions, transitions } from "./queries";
import css from "./Sandbox.module.css";

export function TransitionsCard() {
  const { data } = useQuery(transitions);
  return data ? <Editor key={JSON.stringify(data)} table={data} /> : null;
}

/** One action a line. */
function inLines(table: Transitions): string {
  return `{\n${Object.entries(table).map(([action, rule]) => `  ${JSON.stringify(action)}: ${JSON.stringify(rule)}`).join(",\n")}\n}`;
}

function Editor({ table }: { table: Transitions }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: { table: inLines(table) } });
  const send = async (values: { table: string }) => setTransitions(JSON.parse(values.table));
  const sending = useSending(form, send, () => cache.invalidateQueries({ queryKey: ["sandbox"] }));
  return (
    <FormCard quiet title="How long things take" lead="By action; * is every other one. fail makes it fail, fail_at on the way." sending={sending} submit="Use this table">
      <Textarea aria-label="Table of transitions" autosize minRows={4} maxRows={10} spellCheck={false} {...form.getInputProps("table")} styles={{ input: { fontFamily: "var(--mono)", fontSize: 12 } }} />
    </FormCard>
  );
}

const describeFault = ({ id: _id, kind, ...rest }: Fault) => `${kind}: ${Object.entries(rest).map(([name, value]) => `${name} ${String(value)}`).join(", ")}`;

export function Faults() {
  const cache = useQueryClient();
  const { data } = useQuery(faults);
  const fresh = () => cache.invalidateQueries({ queryKey: ["sandbox", "faults"] });
  const form = useForm({ initialValues: { status: 503, method: "*", path: "*", times: 1 } });
  const sending = useSending(form, (values) => addFault({ kind: "http", ...values }), fresh);
  return (
    <FormCard quiet title="Faults" lead="The next calls that match are answered with a status of your choice." sending={sending} submit="Plant a fault">
      {data && data.length > 0 && (
        <ul className={css.list}>
          {data.map((fault) => (
            <li key={fault.id}>
              <span>{describeFault(fault)}</span>
            </li>
          ))}
          <li>
            <span />
            <Button variant="default" size="xs" onClick={() => void clearFaults().then(fresh)}>
              Remove all faults
            </Button>
          </li>
        </ul>
      )}
      <Fields beside>
        <NumberInput label="Status" min={200} max={599} {...form.getInputProps("status")} />
        <NumberInput label="Times" min={1} {...form.getInputProps("times")} />
        <Select label="Method" data={["*", "GET", "POST", "PUT", "DELETE"]} allowDeselect={false} {...form.getInputProps("method")} />
        <TextInput label="Path" {...form.getInputProps("path")} />
      </Fields>
    </FormCard>
  );
}

export function Accounts() {
  const cache = useQueryClient();
  const [token, setToken] = useState<string | null>(null);
  const form = useForm({ initialValues: { username: "", password: "", card: "valid" } });
  const send = ({ username, password, card }: { username: string; password: string; card: string }) => openAccount({ card, ...(username ? { username } : {}), ...(password ? { password } : {}) });
  const sending = useSending(form, send, async (opened) => {
    setToken(opened.token);
    form.reset();
    await cache.invalidateQueries({ queryKey: ["sandbox", "state"] });
  });
  return (
    <FormCard quiet title="Another account" lead="Of its own, with a token; with a password somebody can sign in to it." sending={sending} submit="Open the account">
      <Fields beside>
        <TextInput label="Username" placeholder="chosen for you" autoComplete="off" {...form.getInputProps("username")} />
        <TextInput label="Password" autoComplete="off" {...form.getInputProps("password")} />
        <Select label="Card" data={["valid", "declined", "none"]} allowDeselect={false} {...form.getInputProps("card")} />
      </Fields>
      <SecretDialog title="The token of its user" what="token" secret={token} onDone={() => setToken(null)} />
    </FormCard>
  );
}

export function Snapshots() {
  const cache = useQueryClient();
  const { data } = useQuery(snapshots);
  const [problem, setProblem] = useState<unknown>(null);
  const form = useForm({ initialValues: { name: "" } });
  const fresh = () => cache.invalidateQueries({ queryKey: ["sandbox", "snapshots"] });
  const sending = useSending(form, ({ name }) => takeSnapshot(name), async () => {
    form.reset();
    await fresh();
  });
  const act = (order: Promise<unknown>, after: () => unknown) => order.then(after, setProblem);
  return (
    <FormCard quiet title="Snapshots" lead="All that there is, kept under a name, to be put back." sending={sending} submit="Take a snapshot">
      {data && data.snapshots.length > 0 && (
        <ul className={css.list}>
          {data.snapshots.map((snapshot) => (
            <li key={snapshot.name}>
              <span>
                <strong>{snapshot.name}</strong> <span className="quiet">{Math.ceil(snapshot.bytes / 1024)} kB</span>
              </span>
              <Button variant="default" size="xs" aria-label={`Put ${snapshot.name} back`} onClick={() => void act(restoreSnapshot(snapshot.name), () => cache.invalidateQueries())}>
                Put back
              </Button>
              <Button variant="subtle" color="red.8" size="xs" aria-label={`Delete the snapshot ${snapshot.name}`} onClick={() => void act(deleteSnapshot(snapshot.name), fresh)}>
                Delete
              </Button>
            </li>
          ))}
        </ul>
      )}
      {problem !== null && <ErrorMessage error={problem} />}
      <TextInput label="Name of the snapshot" autoComplete="off" {...form.getInputProps("name")} />
    </FormCard>
  );
}

export function Outbox() {
  const { data } = useQuery({ ...outbox, refetchInterval: 10_000 });
  const mails = data?.mails ?? [];
  return (
    <Card title="Outbox">
      {mails.length === 0 ? (
        <p className="quiet">No mail has been sent. What would go out is kept here instead.</p>
      ) : (
        <ul className={css.list}>
          {[...mails].reverse().slice(0, 20).map((mail, at) => (
            <li key={`${mails.length - at}`}>
              <details>
                <summary>
                  <strong>{mail.subject}</strong> <span className="quiet">to {mail.to}</span>
                </summary>
                <pre className={css.mail} tabIndex={0} aria-label={`Mail: ${mail.subject}`} role="region">
                  {mail.text}
                </pre>
              </details>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
