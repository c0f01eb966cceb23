import { Button, Checkbox, Skeleton, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { Time } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { Fields, FormCard, useSending } from "../../ui/form";
import { Card, Empty, ErrorMessage, Page } from "../../ui/Page";
import { type Column, Table } from "../../ui/Table";
import { usePermissions } from "../profile/permissions";
import { profile } from "../profile/queries";
import { GrantsCard } from "./GrantsCard";
import { change, type Login, logins, remove, type User, userByName } from "./queries";
import css from "./Users.module.css";

const route = getRouteApi("/users/$name");
const BACK = { to: "/users", label: "Users" };
const LOGINS: Column<Login>[] = [
  { key: "time", header: "When", cell: (login) => <Time time={login.datetime} /> },
  { key: "status", header: "Outcome", cell: (login) => (login.status === "successful" ? "signed in" : "refused") },
  { key: "ip", header: "From", cell: (login) => <code>{login.ip}</code> },
];

export default function Detail() {
  const { name } = route.useParams();
  const query = useQuery(userByName(name));
  const you = useQuery(profile).data?.username === name;
  const navigate = useNavigate();
  const cache = useQueryClient();
  const held = usePermissions().account();
  const [confirming, setConfirming] = useState(false);
  if (query.isError || !query.data)
    return (
      <Page title={name} back={BACK}>
        {query.isError ? <ErrorMessage error={query.error} again={() => void query.refetch()} /> : <Skeleton height={160} radius={10} />}
      </Page>
    );
  const remover = (
    <Disabled reason={held ?? (you && "You cannot delete yourself.")}>
      <Button variant="default" onClick={() => setConfirming(true)}>
        Delete
      </Button>
    </Disabled>
  );
  return (
    <Page title={name} back={BACK} lead={query.data.restricted ? "May do what the grants below say" : "May do everything on this account"} actions={remover}>
      <div className={css.column}>
        <Edit key={query.data.username} of={query.data} you={you} />
        {query.data.restricted && <GrantsCard name={name} held={held ?? (you ? "Your own grants are for others to change." : undefined)} />}
        <Logins name={name} />
      </div>
      <ConfirmByLabel
        opened={confirming}
        onClose={() => setConfirming(false)}
        verb="Delete"
        label={name}
        lost={<p>Their tokens, keys and sessions end at once. What they have made stays.</p>}
        onConfirm={async () => {
          await remove(name);
          await cache.invalidateQueries({ queryKey: ["users", "list"] });
          await navigate({ to: "/users", search: {} });
        }}
      />
    </Page>
  );
}

function Edit({ of, you }: { of: User; you: boolean }) {
  const cache = useQueryClient();
  const navigate = useNavigate();
  const form = useForm({ initialValues: { username: of.username, email: of.email, restricted: of.restricted } });
  // One's own address is changed in the profile, and nobody restricts themselves.
  const send = ({ username, email, restricted }: ReturnType<typeof form.getValues>) => change(of.username, you ? { username } : { username, email, restricted });
  const sending = useSending(form, send, async (saved) => {
    await cache.invalidateQueries({ queryKey: ["users"] });
    if (saved.username !== of.username) await navigate({ to: "/users/$name", params: { name: saved.username } });
  });
  return (
    <FormCard quiet title="Who it is" sending={sending} submit="Save">
      <Fields beside>
        <TextInput label="Username" autoComplete="off" {...form.getInputProps("username")} />
        <TextInput label="E-mail address" type="email" autoComplete="off" disabled={you} description={you ? "Yours is in your profile" : undefined} {...form.getInputProps("email")} />
      </Fields>
      <Checkbox label="Restricted" description="May do only what is granted" disabled={you} {...form.getInputProps("restricted", { type: "checkbox" })} />
    </FormCard>
  );
}

function Logins({ name }: { name: string }) {
  const query = useQuery(logins);
  const mine = useMemo(() => query.data && { ...query.data, data: query.data.data.filter((login) => login.username === name).slice(0, 20) }, [query.data, name]);
  return (
    <Card title="Sign-ins of the last 90 days" flush>
      <Table
        name="sign-ins"
        columns={LOGINS}
        query={{ ...query, data: mine }}
        rowKey={(login) => login.id}
        rowLabel={(login) => login.datetime}
        empty={
          <Empty icon="clock" title="Has not signed in yet">
            Every attempt is written down, refused ones too.
          </Empty>
        }
      />
    </Card>
  );
}
