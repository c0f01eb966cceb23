import { Button, Checkbox, Select, Skeleton, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schemas } from "../../api/client";
import { session } from "../../session/session";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { Fields, FormCard, useSending } from "../../ui/form";
import { Card, ErrorMessage, Page } from "../../ui/Page";
import { day, money } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import css from "./Account.module.css";
import { account, cancel, change, changeSettings, cost, settings, transfer } from "./queries";

type AccountView = Schemas["AccountView"];
const FIELDS = ["company", "email", "first_name", "last_name", "phone", "address_1", "address_2", "zip", "city", "state", "country", "tax_id"] as const;

export default function Account() {
  const query = useQuery(account);
  const options = useQuery(settings);
  const accountView = query.data;
  if (query.isError)
    return (
      <Page title="Account">
        <ErrorMessage error={query.error} again={() => void query.refetch()} />
      </Page>
    );
  return (
    <Page title="Account" lead={accountView && `Since ${day(accountView.active_since)}`}>
      {!accountView || !options.data ? (
        <Skeleton height={320} radius={10} />
      ) : (
        <div className={css.grid}>
          <div className={css.stack}>
            <Contact accountView={accountView} />
            <End accountView={accountView} />
          </div>
          <div className={css.stack}>
            <Settings now={options.data} />
            <Traffic />
            <Card title="Identity">
              <p className="quiet">Names your account everywhere, also to the support staff.</p>
              <Copyable text={accountView.euuid} what="account id" />
            </Card>
          </div>
        </div>
      )}
    </Page>
  );
}

const COUNTRIES = new Intl.DisplayNames(undefined, { type: "region", fallback: "none" });
const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
/** Every pair of letters that is the name of a country in the browser's tables. */
const countries = () =>
  LETTERS.flatMap((first) => LETTERS.map((second) => first + second))
    .flatMap((code) => {
      const name = /^(EU|EZ|UN|QO|ZZ|X[A-Z]|Q[M-Z])$/.test(code) ? undefined : COUNTRIES.of(code);
      return name ? [{ value: code, label: name }] : [];
    })
    .sort((left, right) => left.label.localeCompare(right.label));

function Contact({ accountView }: { accountView: AccountView }) {
  const cache = useQueryClient();
  const denied = usePermissions().account();
  const [places] = useState(countries);
  const form = useForm({ initialValues: Object.fromEntries(FIELDS.map((name) => [name, accountView[name] ?? ""])) as Record<(typeof FIELDS)[number], string> });
  const sending = useSending(form, change, async () => {
    form.resetDirty();
    await cache.invalidateQueries({ queryKey: ["account"] });
    notifications.show({ message: "The contact is saved", color: "croft" });
  });
  const known = form.values.country.toUpperCase();
  return (
    <FormCard title="Contact" lead="Invoices are made out to it, and mail about the account goes there." sending={sending} submit="Save contact" held={denied}>
      <Fields beside>
        <TextInput label="Company" autoComplete="organization" {...form.getInputProps("company")} />
        <TextInput label="E-mail address" type="email" autoComplete="email" {...form.getInputProps("email")} />
        <TextInput label="First name" autoComplete="given-name" {...form.getInputProps("first_name")} />
        <TextInput label="Last name" autoComplete="family-name" {...form.getInputProps("last_name")} />
        <TextInput label="Address" autoComplete="address-line1" {...form.getInputProps("address_1")} />
        <TextInput label="Address, second line" autoComplete="address-line2" {...form.getInputProps("address_2")} />
        <TextInput label="Postal code" autoComplete="postal-code" {...form.getInputProps("zip")} />
        <TextInput label="City" autoComplete="address-level2" {...form.getInputProps("city")} />
        <TextInput label="State or province" autoComplete="address-level1" {...form.getInputProps("state")} />
        <Select label="Country" data={places} searchable {...form.getInputProps("country")} value={known || null} onChange={(code) => form.setFieldValue("country", code ?? "")} />
        <TextInput label="Phone" type="tel" autoComplete="tel" {...form.getInputProps("phone")} />
        <TextInput label="Tax number, for invoices" autoComplete="off" {...form.getInputProps("tax_id")} />
      </Fields>
    </FormCard>
  );
}

function Settings({ now }: { now: Schemas["SettingsView"] }) {
  const cache = useQueryClient();
  const denied = usePermissions().account();
  const form = useForm({ initialValues: { backups_enabled: now.backups_enabled, network_helper: now.network_helper } });
  const sending = useSending(form, changeSettings, async () => {
    await cache.invalidateQueries({ queryKey: ["account", "settings"] });
    notifications.show({ message: "The settings are saved", color: "croft" });
  });
  return (
    <FormCard title="Settings" sending={sending} submit="Save settings" held={denied} quiet>
      <Checkbox label="Back up new instances" description="Each costs what its plan says for backups" {...form.getInputProps("backups_enabled", { type: "checkbox" })} />
      <Checkbox label="Network helper" description="Configures the network of new configuration profiles at boot" {...form.getInputProps("network_helper", { type: "checkbox" })} />
      <p className="quiet">
        Managed: {now.managed ? "on" : "off"}. Object storage: {now.object_storage}.
      </p>
    </FormCard>
  );
}

function Traffic() {
  const { data } = useQuery(transfer);
  if (!data) return null;
  const share = data.quota ? Math.min(data.used / data.quota, 1) : 0;
  return (
    <Card title="Traffic this month">
      <p className={css.figure}>
        <strong className="figures">{data.used} GB</strong> <span className="quiet">of {data.quota} GB included</span>
      </p>
      <div className={css.track} role="img" aria-label={`${data.used} of ${data.quota} GB used`}>
        <div style={{ width: `${share * 100}%` }} />
      </div>
      {data.billable > 0 && <p className="quiet">{data.billable} GB beyond it are on the next invoice.</p>}
    </Card>
  );
}

function End({ accountView }: { accountView: AccountView }) {
  const denied = usePermissions().unrestricted();
  const [asked, setAsked] = useState(false);
  const [comments, setComments] = useState("");
  const running = useQuery({ ...cost, enabled: asked }).data;
  return (
    <Card title="Cancel the account">
      <p className={css.end}>What is owed is charged to your card, then everything is deleted: instances with their disks and backups, volumes, domains, users, tickets. It cannot be undone.</p>
      <Disabled reason={denied}>
        <Button variant="outline" color="red.8" onClick={() => setAsked(true)}>
          Cancel account…
        </Button>
      </Disabled>
      <ConfirmByLabel
        opened={asked}
        onClose={() => setAsked(false)}
        verb="Cancel"
        label={accountView.email}
        lost={
          <>
            <p>
              Everything that the account has is deleted for good{running && running.monthly > 0 && `, and ${money(running.monthly)} a month are no longer to be paid`}. {money(Math.max(accountView.balance + accountView.balance_uninvoiced, 0))} is charged first.
            </p>
            <Textarea label="Why do you leave?" description="If you like to say" value={comments} onChange={(change) => setComments(change.currentTarget.value)} autosize minRows={2} />
          </>
        }
        onConfirm={async () => {
          await cancel(comments);
          await session.leaveToSignIn("/console/");
        }}
      />
    </Card>
  );
}
