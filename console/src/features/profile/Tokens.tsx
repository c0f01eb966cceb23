import { Button, Checkbox, Select, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { Ago, Time } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { useNow } from "../../ui/now";
import { Empty } from "../../ui/Page";
import { SecretDialog } from "../../ui/SecretDialog";
import { type Column, Table } from "../../ui/Table";
import { Frame } from "./Frame";
import css from "./Profile.module.css";
import { makeToken, renameToken, revokeToken, type Token, tokens } from "./queries";
import { type Level, type Levels, scopesOf, SENTENCES, sentences } from "./scopes";

const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/profile/tokens --json \'{"label": "ci", "scopes": "computes:read_only"}\'';

export default function Tokens() {
  const cache = useQueryClient();
  const query = useQuery(tokens);
  const [making, setMaking] = useState(false);
  const [renamed, setRenamed] = useState<Token | null>(null);
  const [toRemove, setToRemove] = useState<Token | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const fresh = () => cache.invalidateQueries({ queryKey: ["profile", "tokens"] });
  const actions = useMemo(
    () => (token: Token) => (
      <>
        <Button variant="subtle" size="compact-sm" onClick={() => setRenamed(token)} aria-label={`Rename ${token.label}`}>
          Rename
        </Button>
        <Button variant="subtle" color="red.8" size="compact-sm" onClick={() => setToRemove(token)} aria-label={`Revoke ${token.label}`}>
          Revoke
        </Button>
      </>
    ),
    [],
  );
  const make = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setMaking(true)}>
      Make a token
    </Button>
  );
  return (
    <Frame actions={make}>
      <Table
        name="tokens"
        columns={COLUMNS}
        query={query}
        rowKey={(token) => token.id}
        rowLabel={(token) => token.label}
        actions={actions}
        empty={
          <Empty icon="key" title="No tokens yet" command={CURL} action={make}>
            A token lets a program do what you may do, or as much of it as you choose. It is shown once.
          </Empty>
        }
      />
      {making && (
        <Make
          onClose={() => setMaking(false)}
          onMade={async (token) => {
            setMaking(false);
            setSecret(token);
            await fresh();
          }}
        />
      )}
      {renamed && <Rename token={renamed} onClose={() => setRenamed(null)} onDone={fresh} />}
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Revoke"
          label={toRemove.label}
          lost={<p>Whatever uses it is turned away from the next call on.</p>}
          onConfirm={async () => {
            await revokeToken(toRemove.id);
            await fresh();
          }}
        />
      )}
      <SecretDialog title="Your token" what="token" secret={secret} onDone={() => setSecret(null)} />
    </Frame>
  );
}

export function Sentences({ scopes }: { scopes: string }) {
  return (
    <ul className={css.sentences}>
      {sentences(scopes).map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}

const COLUMNS: Column<Token>[] = [
  { key: "label", header: "Name", csv: (token) => token.label, cell: (token) => <strong>{token.label}</strong> },
  { key: "token", header: "Begins with", phone: "hide", csv: (token) => token.token, cell: (token) => <code>{token.token}</code> },
  { key: "scopes", header: "May", phone: "wide", csv: (token) => token.scopes, cell: (token) => <Sentences scopes={token.scopes} /> },
  { key: "created", header: "Made", phone: "hide", csv: (token) => token.created, cell: (token) => <Ago time={token.created} /> },
  { key: "expiry", header: "Ends", csv: (token) => token.expiry, cell: (token) => (token.expiry ? <Time time={token.expiry} /> : "never") },
];

const LIFETIMES = [
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "", label: "Never" },
];

function Make({ onClose, onMade }: { onClose: () => void; onMade: (token: string) => void }) {
  const now = useNow();
  const form = useForm({ initialValues: { label: "", days: "90", everything: false, scopes: { computes: "read_only" } as Levels } });
  const send = ({ label, days, everything, scopes }: ReturnType<typeof form.getValues>) => {
    const expiry = days ? new Date(now + Number(days) * 86_400_000).toISOString().slice(0, 19) : null;
    return makeToken({ label, expiry, scopes: everything ? "*" : scopesOf(scopes) });
  };
  const sending = useSending(form, send, (made) => onMade(made.token));
  return (
    <FormDialog title="Make a token" submit="Make the token" sending={sending} onClose={onClose} size="lg">
      <TextInput label="Name" placeholder="What uses it" data-autofocus {...form.getInputProps("label")} />
      <Select label="Ends" data={LIFETIMES} allowDeselect={false} {...form.getInputProps("days")} />
      <Checkbox label="Everything that I may do" {...form.getInputProps("everything", { type: "checkbox" })} />
      {!form.values.everything && <Choice levels={form.values.scopes} onChange={(levels) => form.setFieldValue("scopes", levels)} />}
      {form.errors.scopes && <p role="alert">{form.errors.scopes}</p>}
    </FormDialog>
  );
}

const LEVELS: [Level, string][] = [
  ["none", "Nothing"],
  ["read_only", "See"],
  ["read_write", "Change"],
];

function Choice({ levels, onChange }: { levels: Levels; onChange: (levels: Levels) => void }) {
  return (
    <div className={css.box} tabIndex={0} role="region" aria-label="What it may do">
      <table className={css.scopes}>
        <thead>
          <tr>
            <th scope="col">With your</th>
            {LEVELS.map(([level, word]) => (
              <th key={level} scope="col">
                {word}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Object.keys(SENTENCES).map((resource) => (
            <tr key={resource}>
              <th scope="row">{resource.replace("ips", "IP addresses").replace("nodebalancers", "load balancers").replace("computes", "instances").replaceAll("_", " ")}</th>
              {LEVELS.map(([level, word]) => (
                <td key={level}>
                  <input type="radio" name={`scope-${resource}`} aria-label={`${resource}: ${word}`} checked={(levels[resource] ?? "none") === level} onChange={() => onChange({ ...levels, [resource]: level })} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Rename({ token, onClose, onDone }: { token: Token; onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { label: token.label } });
  const sending = useSending(form, ({ label }) => renameToken(token.id, label), async () => {
    await onDone();
    onClose();
  });
  return (
    <FormDialog title={`Rename ${token.label}`} submit="Save" sending={sending} onClose={onClose}>
      <TextInput label="Name" data-autofocus {...form.getInputProps("label")} />
    </FormDialog>
  );
}
