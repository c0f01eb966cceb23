import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { Copyable } from "../../ui/Copyable";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { notify } from "../../ui/notify";
import { Empty, Page } from "../../ui/Page";
import { RowLink } from "../../ui/RowLink";
import { RowMenu } from "../../ui/RowMenu";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { ChooseInstance } from "../instances/Choose";
import { chosenInstance, namesOf } from "../instances/queries";
import { usePermissions } from "../profile/permissions";
import { type Address, addresses, assign, setName, share } from "./queries";
import { NetworkTabs } from "./Tabs";

const route = getRouteApi("/networking");
type Dialog = "name" | "assign" | "share";

export default function List() {
  const search = route.useSearch();
  const cache = useQueryClient();
  const query = useQuery({ ...addresses(search), placeholderData: keepPreviousData });
  const ids = [...new Set(query.data?.data.map((address) => address.compute_id))].sort((a, b) => a - b);
  const names = useQuery({ ...namesOf(ids), enabled: ids.length > 0, placeholderData: keepPreviousData }).data;
  const columns = useMemo(() => columnsWith(names ?? {}), [names]);
  const [open, setOpen] = useState<{ dialog: Dialog; address: Address } | null>(null);
  const actions = useMemo(() => (address: Address) => <Actions address={address} onOpen={(dialog) => setOpen({ dialog, address })} />, []);
  const props = {
    onClose: () => setOpen(null),
    onDone: () => {
      notify(`${open?.address.address} was changed`);
      setOpen(null);
      return Promise.all([cache.invalidateQueries({ queryKey: ["networking"] }), cache.invalidateQueries({ queryKey: ["instances"] })]);
    },
  };
  return (
    <Page title="Addresses" wide lead={query.data && count(query.data.results, "address", "addresses")}>
      <NetworkTabs />
      <Table
        name="addresses"
        columns={columns}
        query={query}
        rowKey={(address) => address.address}
        rowLabel={(address) => address.address}
        search={search}
        actions={actions}
        empty={
          <Empty icon="link" title="No addresses yet" command={'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4/networking/ips'}>
            Each instance comes with a public address. All of them are listed here.
          </Empty>
        }
      />
      {open?.dialog === "name" && <NameDialog address={open.address} {...props} />}
      {open?.dialog === "assign" && <MoveDialog address={open.address} order="assign" {...props} />}
      {open?.dialog === "share" && <MoveDialog address={open.address} order="share" {...props} />}
    </Page>
  );
}

function Actions({ address, onOpen }: { address: Address; onOpen: (dialog: Dialog) => void }) {
  const change = usePermissions().change("compute", address.compute_id);
  const four = address.type === "ipv4" ? undefined : "Only IPv4 addresses can go to another instance";
  return (
    <RowMenu
      label={address.address}
      actions={[
        { label: "Reverse name…", icon: "pencil", onClick: () => onOpen("name"), reason: change ?? (!address.public && "A private address has no name") },
        { label: "Share with an instance…", icon: "people", onClick: () => onOpen("share"), reason: change ?? four },
        { label: "Give to another instance…", icon: "swap", onClick: () => onOpen("assign"), reason: change ?? four },
      ]}
    />
  );
}

interface DialogProps {
  address: Address;
  onClose: () => void;
  onDone: () => unknown;
}

function NameDialog({ address, onClose, onDone }: DialogProps) {
  const form = useForm({ initialValues: { rdns: address.rdns ?? "" } });
  const sending = useSending(form, ({ rdns }) => setName(address.address, rdns || null), onDone);
  return (
    <FormDialog title={`Reverse name of ${address.address}`} lead="A name that leads to this address already. Empty gives the usual one back." sending={sending} submit="Save name" onClose={onClose}>
      <TextInput label="Name" placeholder="www.example.com" data-autofocus autoComplete="off" {...form.getInputProps("rdns")} />
    </FormDialog>
  );
}

function MoveDialog({ address, order, onClose, onDone }: DialogProps & { order: "assign" | "share" }) {
  const form = useForm({ initialValues: { compute_id: null as string | null } });
  const give = (id: number) => (order === "share" ? share(address.address, id) : assign(address.region, address.address, id));
  const sending = useSending(form, ({ compute_id }) => give(chosenInstance(compute_id)), onDone);
  return (
    <FormDialog
      title={order === "share" ? `Share ${address.address}` : `Give ${address.address} away`}
      lead={order === "share" ? "The other instance may answer for it if this one fails." : "It is taken from the instance that has it now. Each must keep one public address."}
      sending={sending}
      submit={order === "share" ? "Share it" : "Give it"}
      onClose={onClose}
    >
      <ChooseInstance label="Instance" region={address.region} data-autofocus {...form.getInputProps("compute_id")} />
    </FormDialog>
  );
}

const columnsWith = (names: Record<number, string>): Column<Address>[] => [
  { key: "address", header: "Address", csv: (address) => address.address, cell: (address) => <Copyable text={address.address} what="address" /> },
  { key: "type", header: "Kind", csv: (address) => address.type, cell: (address) => `${address.public ? "public" : "private"} ${address.type === "ipv4" ? "IPv4" : "IPv6"}` },
  { key: "rdns", header: "Reverse name", phone: "wide", csv: (address) => address.rdns, cell: (address) => address.rdns ?? <span className="quiet">none</span> },
  {
    key: "compute",
    header: "Instance",
    sort: "compute_id",
    csv: (address) => address.compute_id,
    cell: (address) => (
      <RowLink to={`/instances/${address.compute_id}`}>{names[address.compute_id] ?? `number ${address.compute_id}`}</RowLink>
    ),
  },
  { key: "region", header: "Region", sort: "region", phone: "hide", csv: (address) => address.region, cell: (address) => address.region },
];
