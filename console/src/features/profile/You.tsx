import { Button, Checkbox, SegmentedControl, Select, Skeleton, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { type Colours, useColours } from "../../shell/colours";
import { Copyable } from "../../ui/Copyable";
import { FormCard, useSending } from "../../ui/form";
import { Card, ErrorMessage } from "../../ui/Page";
import { useNow } from "../../ui/now";
import { Frame } from "./Frame";
import css from "./Profile.module.css";
import { change, profile, type Profile } from "./queries";

const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];
const LISH = [
  { value: "password_keys", label: "With a password or a key" },
  { value: "keys_only", label: "With a key only" },
  { value: "disabled", label: "Not at all" },
];

export default function You() {
  const query = useQuery(profile);
  return (
    <Frame>
      {query.isError ? (
        <ErrorMessage error={query.error} again={() => void query.refetch()} />
      ) : query.data ? (
        <div className={css.grid}>
          <div className={css.column}>
            <Contact you={query.data} />
            <Facts you={query.data} />
          </div>
          <div className={css.column}>
            <Appearance you={query.data} />
            <Lish you={query.data} />
          </div>
        </div>
      ) : (
        <Skeleton height={240} radius={10} />
      )}
    </Frame>
  );
}

function useSaved() {
  const cache = useQueryClient();
  return async (message: string) => {
    await cache.invalidateQueries({ queryKey: ["profile"] });
    notifications.show({ message, color: "croft" });
  };
}

function Contact({ you }: { you: Profile }) {
  const saved = useSaved();
  const form = useForm({ initialValues: { email: you.email, email_notifications: you.email_notifications } });
  const sending = useSending(form, change, () => saved("Your address is saved"));
  return (
    <FormCard quiet title="How to reach you" sending={sending} submit="Save">
      <TextInput label="E-mail address" type="email" autoComplete="email" {...form.getInputProps("email")} />
      <Checkbox label="Tell me by e-mail" description="About what happens to your instances" {...form.getInputProps("email_notifications", { type: "checkbox" })} />
    </FormCard>
  );
}

function Appearance({ you }: { you: Profile }) {
  const saved = useSaved();
  const { chosen, choose } = useColours();
  const form = useForm({ initialValues: { timezone: you.timezone } });
  const sending = useSending(form, change, () => saved(`Times are shown in ${form.getValues().timezone}`));
  const now = new Date(useNow());
  const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short", dateStyle: "medium", timeZone: form.values.timezone }).format(now);
  return (
    <FormCard quiet title="How it looks" sending={sending} submit="Save the zone">
      <SegmentedControl
        fullWidth
        aria-label="Colours"
        value={chosen}
        onChange={(colours) => choose(colours as Colours)}
        data={[
          { value: "light", label: "Light" },
          { value: "dark", label: "Dark" },
          { value: "auto", label: "As my system" },
        ]}
      />
      <Select label="Time zone" description={`It is ${clock} there`} data={ZONES} searchable allowDeselect={false} limit={80} {...form.getInputProps("timezone")} />
    </FormCard>
  );
}

function Lish({ you }: { you: Profile }) {
  const saved = useSaved();
  const form = useForm({ initialValues: { lish_auth_method: you.lish_auth_method as string, authorized_keys: (you.authorized_keys ?? []).join("\n") } });
  const send = (values: { lish_auth_method: string; authorized_keys: string }) => {
    const keys = values.authorized_keys.split("\n").map((line) => line.trim()).filter(Boolean);
    return change({ lish_auth_method: values.lish_auth_method as Profile["lish_auth_method"], authorized_keys: keys });
  };
  const sending = useSending(form, send, () => saved("The way to your consoles is saved"));
  return (
    <FormCard quiet title="Text consoles of instances" sending={sending} submit="Save">
      <Select label="Who may come in" data={LISH} allowDeselect={false} {...form.getInputProps("lish_auth_method")} />
      <Textarea label="Keys for it" description="One a line, as in authorized_keys" autosize minRows={2} maxRows={6} spellCheck={false} {...form.getInputProps("authorized_keys")} styles={{ input: { fontFamily: "var(--mono)", fontSize: 12 } }} />
    </FormCard>
  );
}

function Facts({ you }: { you: Profile }) {
  return (
    <Card
      title="Facts"
      aside={
        <Button component="a" href="/login/change" variant="default" size="xs">
          Change the password
        </Button>
      }
    >
      <dl className={css.facts}>
        <dt>Username</dt>
        <dd>
          <Copyable text={you.username} what="username" />
        </dd>
        <dt>User id</dt>
        <dd>
          <Copyable text={String(you.uid)} what="user id" />
        </dd>
        <dt>Signs in</dt>
        <dd>with a password{you.two_factor_auth && " and a code"}</dd>
        <dt>Referrals</dt>
        <dd>
          <Copyable text={you.referrals.code} what="referral code" /> {you.referrals.total > 0 && `${you.referrals.completed} of ${you.referrals.total} came`}
        </dd>
      </dl>
    </Card>
  );
}
