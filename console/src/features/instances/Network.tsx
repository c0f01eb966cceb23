import { ActionIcon, Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";

import type { Instance } from "../../api/client";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { Card, ErrorMessage } from "../../ui/Page";
import { PriceChange } from "../../ui/PriceChange";
import { type Column, Table } from "../../ui/Table";
import { type Address, addresses, allocate, allocating, balancersOf, firewallsOf, release, setReverse } from "./networkQueries";
import css from "./Network.module.css";
import { cost } from "./queries";
import { configs } from "./diskQueries";
import { useSubject } from "./subject";

interface Row {
  address: string;
  sort: string;
  of?: Address;
  note?: string;
  /** Why it cannot be removed. */
  kept?: string;
}

export default function Network() {
  const { instance, denied, held } = useSubject();
  const query = useQuery(addresses(instance.id));
  const cache = useQueryClient();
  const [adding, setAdding] = useState<"public" | "private" | null>(null);
  const [toRemove, setToRemove] = useState<string | null>(null);
  const columns = useMemo(() => columnsWith(instance, denied), [instance, denied]);
  const actions = useMemo(() => (row: Row) => <Remove row={row} held={held} onRemove={setToRemove} />, [held]);
  const rows = useMemo(() => rowsOf(query.data), [query.data]);
  const isPrivate = Boolean(query.data?.ipv4.private.length);
  if (query.isError) return <ErrorMessage error={query.error} again={() => void query.refetch()} />;
  return (
    <div className={css.stack}>
      <Table
        name="addresses"
        columns={columns}
        query={{ data: query.data && { data: rows, pages: 1, results: rows.length }, isPending: query.isPending, isError: false, error: null, refetch: query.refetch }}
        rowKey={(row) => `${row.sort} ${row.address}`}
        rowLabel={(row) => row.address}
        filters={
          <>
            <h2 className={css.title}>Addresses</h2>
            <div className={css.buttons}>
              <Disabled reason={held ?? (isPrivate && "It has a private address already; there can be one")}>
                <Button variant="default" onClick={() => setAdding("private")}>
                  Add private
                </Button>
              </Disabled>
              <Disabled reason={held}>
                <Button variant="default" onClick={() => setAdding("public")}>
                  Add public
                </Button>
              </Disabled>
            </div>
          </>
        }
        actions={actions}
        empty={<p className="quiet">It has no address.</p>}
      />
      <Around instance={instance} />
      {adding && <Add instance={instance} isPublic={adding === "public"} onClose={() => setAdding(null)} />}
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Remove"
          label={toRemove}
          onConfirm={async () => {
            await release(instance.id, toRemove);
            await cache.invalidateQueries({ queryKey: ["instances", "one", instance.id] });
          }}
          lost={<p>The address goes back to the pool. Somebody else may get it, and names that point to it lead there then.</p>}
        />
      )}
    </div>
  );
}

function rowsOf(seen?: { ipv4: { public: Address[]; private: Address[]; shared: Address[]; reserved: Address[] }; ipv6: { slaac: Address | null; link_local: Address | null; global: { range: string; prefix: number } | null } }): Row[] {
  if (!seen) return [];
  const { ipv4, ipv6 } = seen;
  const last = ipv4.public.length === 1 ? "It is the last public address" : undefined;
  return [
    ...ipv4.public.map((of) => ({ address: of.address, sort: "public", of, kept: last })),
    ...ipv4.private.map((of) => ({ address: of.address, sort: "private", of, kept: "A private address stays with its instance" })),
    ...ipv4.shared.map((of) => ({ address: of.address, sort: "shared", of, note: "belongs to another instance, and may be taken over", kept: "It is shared: stop sharing it on the page of addresses" })),
    ...ipv4.reserved.map((of) => ({ address: of.address, sort: "reserved", of, kept: "It is reserved for this instance" })),
    ...(ipv6.slaac ? [{ address: ipv6.slaac.address, sort: "IPv6", of: ipv6.slaac, kept: "Every instance has it" }] : []),
    ...(ipv6.global ? [{ address: `${ipv6.global.range}/${ipv6.global.prefix}`, sort: "IPv6 range", kept: "Ranges are given back on the page of addresses" }] : []),
    ...(ipv6.link_local ? [{ address: ipv6.link_local.address, sort: "link-local", note: "reaches the same network only", kept: "Every instance has it" }] : []),
  ];
}

function columnsWith(instance: Instance, denied: string | undefined): Column<Row>[] {
  return [
    { key: "address", header: "Address", csv: (row) => row.address, cell: (row) => <Copyable text={row.address} what="address" /> },
    { key: "sort", header: "Kind", csv: (row) => row.sort, cell: (row) => <span className={css.sort}>{row.sort}</span> },
    {
      key: "rdns",
      header: "Reverse name",
      phone: "wide",
      csv: (row) => row.of?.rdns,
      cell: (row) => (row.of?.public && row.sort !== "shared" ? <Reverse instance={instance} address={row.of} denied={denied} /> : <span className="quiet">{row.note ?? "none"}</span>),
    },
    { key: "gateway", header: "Gateway", phone: "hide", csv: (row) => row.of?.gateway, cell: (row) => row.of?.gateway && <code>{row.of.gateway}</code> },
    { key: "prefix", header: "Prefix", align: "right", phone: "hide", csv: (row) => row.of?.prefix, cell: (row) => row.of && `/${row.of.prefix}` },
  ];
}

/** A reverse name, changed where it stands; an empty one goes back to the usual. */
function Reverse({ instance, address, denied }: { instance: Instance; address: Address; denied: string | undefined }) {
  const cache = useQueryClient();
  const [open, setOpen] = useState(false);
  const form = useForm({ initialValues: { rdns: address.rdns ?? "" } });
  const sending = useSending(
    form,
    ({ rdns }) => setReverse(instance.id, address.address, rdns.trim() || null),
    async () => {
      await cache.invalidateQueries({ queryKey: ["instances", "one", instance.id, "ips"] });
      setOpen(false);
    },
  );
  if (!open)
    return (
      <span className={css.reverse}>
        {address.rdns ?? <span className="quiet">none</span>}
        <Disabled reason={denied}>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Change the reverse name of ${address.address}`}
            onClick={() => {
              form.setValues({ rdns: address.rdns ?? "" });
              setOpen(true);
            }}
          >
            <Icon name="pencil" size={15} />
          </ActionIcon>
        </Disabled>
      </span>
    );
  return (
    <form className={css.edit} onSubmit={sending.onSubmit} onKeyDown={(key) => key.key === "Escape" && setOpen(false)} noValidate>
      <TextInput aria-label={`Reverse name of ${address.address}`} autoFocus autoComplete="off" spellCheck={false} placeholder="Empty for the usual name" {...form.getInputProps("rdns")} error={form.errors.rdns ?? (sending.problem instanceof Error ? sending.problem.message : undefined)} />
      <Button type="submit" variant="default" loading={sending.busy}>
        Save
      </Button>
      <Button variant="subtle" onClick={() => setOpen(false)}>
        Cancel
      </Button>
    </form>
  );
}

function Remove({ row, held, onRemove }: { row: Row; held: string | undefined; onRemove: (address: string) => void }) {
  return (
    <Disabled reason={row.kept ?? held}>
      <ActionIcon variant="subtle" color="gray" aria-label={`Remove ${row.address}`} onClick={() => onRemove(row.address)}>
        <Icon name="trash" size={16} />
      </ActionIcon>
    </Disabled>
  );
}

function Add({ instance, isPublic, onClose }: { instance: Instance; isPublic: boolean; onClose: () => void }) {
  const cache = useQueryClient();
  const form = useForm({ initialValues: {} });
  const plan = useQuery(allocating(instance.id, isPublic));
  const paid = useQuery(cost(instance.id));
  const sending = useSending(
    form,
    () => allocate(instance.id, isPublic),
    async () => {
      onClose();
      await cache.invalidateQueries({ queryKey: ["instances", "one", instance.id] });
    },
  );
  return (
    <FormDialog title={isPublic ? "Add a public address" : "Add a private address"} sending={sending} submit="Add address" onClose={onClose} held={plan.isError && "The server would refuse this"}>
      <p>{isPublic ? `One more IPv4 address of ${instance.region}, reachable from everywhere.` : `An IPv4 address for traffic among your instances in ${instance.region}, which costs nothing.`}</p>
      {plan.isError ? <ErrorMessage error={plan.error} /> : <PriceChange price={plan.data?.price} before={paid.data} stale={plan.isFetching} />}
    </FormDialog>
  );
}

/** What stands in front of it, and the networks it is part of. */
function Around({ instance }: { instance: Instance }) {
  const firewalls = useQuery(firewallsOf(instance.id)).data?.data ?? [];
  const balancers = useQuery(balancersOf(instance.id)).data?.data ?? [];
  const vlanInterfaces = (useQuery(configs(instance.id)).data?.data ?? []).flatMap((config) => config.interfaces.filter((iface) => iface.purpose === "vlan").map((iface) => ({ config, iface })));
  return (
    <div className={css.pair}>
      <Links title="Firewalls" none="No firewall stands in front of it." rows={firewalls.map((firewall) => [firewall.id, <Link key={firewall.id} to={`/firewalls/${firewall.id}` as string}>{firewall.label}</Link>])} />
      <Links title="VLANs" none="It is in no VLAN. Its configurations say which." rows={vlanInterfaces.map(({ config, iface }) => [`${config.id} ${iface.label}`, `${iface.label}${iface.ipam_address ? ` as ${iface.ipam_address}` : ""}, in ${config.label}`])} />
      {balancers.length > 0 && <Links title="Load balancers" none="" rows={balancers.map((balancer) => [balancer.id, <Link key={balancer.id} to={`/nodebalancers/${balancer.id}` as string}>{balancer.label}</Link>])} />}
    </div>
  );
}

function Links({ title, none, rows }: { title: string; none: string; rows: [string | number, ReactNode][] }) {
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <span className="quiet">{none}</span>
      ) : (
        <ul className={css.links}>
          {rows.map(([key, row]) => (
            <li key={key}>{row}</li>
          ))}
        </ul>
      )}
    </Card>
  );
}
