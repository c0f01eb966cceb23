import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { Ago, TwoLines } from "../../ui/Cell";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { notify, notifyFailed } from "../../ui/notify";
import { Empty, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { ChooseInstances } from "../instances/Choose";
import { profile } from "../profile/queries";
import { accept, cancel, create, type Transfer, transfers } from "./queries";

const route = getRouteApi("/transfers");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/account/service-transfers --json \'{"entities": {"computes": [7]}}\'';

export default function List() {
  const search = route.useSearch();
  const cache = useQueryClient();
  const query = useQuery({ ...transfers(search), placeholderData: keepPreviousData });
  const reason = useQuery(profile).data?.restricted ? "Only unrestricted users of your account may transfer instances." : undefined;
  const [open, setOpen] = useState<"create" | "accept" | null>(null);
  const close = () => setOpen(null);
  const done = (message: string) => {
    close();
    notify(message);
    return cache.invalidateQueries();
  };
  const actions = useMemo(() => {
    const withdraw = (transfer: Transfer) =>
      cancel(transfer.token)
        .then(() => cache.invalidateQueries({ queryKey: ["transfers"] }))
        .then(() => notify("The transfer was cancelled"))
        .catch((error: unknown) => notifyFailed("Cancel", error));
    return (transfer: Transfer) => (
      <RowMenu
        label={transfer.token}
        actions={[{ label: "Cancel", icon: "cross", onClick: () => void withdraw(transfer), reason: reason ?? (!transfer.is_sender ? "It was sent by another account" : transfer.status !== "pending" && `It is ${transfer.status}`) }]}
      />
    );
  }, [cache, reason]);
  const send = (
    <Disabled reason={reason}>
      <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setOpen("create")}>
        Offer instances
      </Button>
    </Disabled>
  );
  return (
    <Page
      title="Transfers"
      wide
      lead="Instances that change hands, from one account to another"
      actions={
        <>
          <Disabled reason={reason}>
            <Button variant="default" leftSection={<Icon name="download" size={16} />} onClick={() => setOpen("accept")}>
              Accept with a token
            </Button>
          </Disabled>
          {send}
        </>
      }
    >
      <Table
        name="transfers"
        columns={COLUMNS}
        query={query}
        rowKey={(transfer) => transfer.token}
        rowLabel={(transfer) => transfer.token}
        search={search}
        actions={actions}
        empty={
          <Empty icon="swap" title="No transfers yet" command={CURL} action={send}>
            Offer instances, and give the token to whoever is to have them. They run on while they change hands.
          </Empty>
        }
      />
      {open === "create" && <CreateDialog onClose={close} onDone={() => done("The offer holds for 24 hours")} />}
      {open === "accept" && <AcceptDialog onClose={close} onDone={() => done("The instances are on their way to your account")} />}
    </Page>
  );
}

function CreateDialog({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { entities: { computes: [] as string[] } } });
  const sending = useSending(form, ({ entities }) => create(entities.computes.map(Number)), onDone);
  return (
    <FormDialog title="Offer instances" lead="Whoever has the token can accept the offer within 24 hours. Until then the instances are yours, and you pay for them." sending={sending} submit="Offer them" onClose={onClose}>
      <ChooseInstances label="Instances" {...form.getInputProps("entities.computes")} />
    </FormDialog>
  );
}

function AcceptDialog({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { token: "" } });
  const sending = useSending(form, ({ token }) => accept(token.trim()), onDone);
  return (
    <FormDialog title="Accept a transfer" lead="The instances become yours, and you pay for them from then on." sending={sending} submit="Accept" onClose={onClose}>
      <TextInput label="Token" description="From whoever offers them" data-autofocus autoComplete="off" spellCheck={false} {...form.getInputProps("token")} />
    </FormDialog>
  );
}

const COLUMNS: Column<Transfer>[] = [
  {
    key: "entities",
    header: "What",
    csv: (transfer) => transfer.entities.computes.join(" "),
    cell: (transfer) => <TwoLines under={`number ${transfer.entities.computes.join(", ")}`}>{count(transfer.entities.computes.length, "instance")}</TwoLines>,
  },
  { key: "status", header: "Status", csv: (transfer) => transfer.status, cell: (transfer) => <Status status={transfer.status} /> },
  { key: "sender", header: "Direction", csv: (transfer) => (transfer.is_sender ? "sent" : "received"), cell: (transfer) => (transfer.is_sender ? "offered by you" : "received") },
  { key: "token", header: "Token", phone: "wide", csv: (transfer) => transfer.token, cell: (transfer) => <Copyable text={transfer.token} what="token" /> },
  { key: "expiry", header: "Ends", csv: (transfer) => transfer.expiry, cell: (transfer) => <Ago time={transfer.expiry} /> },
];
