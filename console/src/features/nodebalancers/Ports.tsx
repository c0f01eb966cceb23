/** One port of a load balancer: how it shares, and the nodes behind it with their health. */
import { Button, NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { ConfirmByLabel } from "../../ui/Confirm";
import { Disabled } from "../../ui/Disabled";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { notify, notifyFailed } from "../../ui/notify";
import { RowMenu } from "../../ui/RowMenu";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import css from "./Balancer.module.css";
import { ConfigDialog } from "./ConfigDialog";
import { type Config, createNode, type Node, nodes, rebuild, removeConfig, removeNode, updateNode } from "./queries";

type Open = { dialog: "edit" | "rebuild" | "delete" } | { dialog: "node"; node?: Node };

export function Ports({ id, config, change }: { id: number; config: Config; change: string | undefined }) {
  const cache = useQueryClient();
  const query = useQuery(nodes(id, config.id));
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const done = () => {
    close();
    return cache.invalidateQueries({ queryKey: ["nodebalancers"] });
  };
  const actions = useMemo(() => {
    const drop = (node: Node) =>
      removeNode(id, config.id, node.id)
        .then(() => cache.invalidateQueries({ queryKey: ["nodebalancers"] }))
        .then(() => notify(`${node.label} gets nothing any more`))
        .catch((error: unknown) => notifyFailed("Remove", error));
    return (node: Node) => (
      <RowMenu
        label={node.label}
        actions={[
          { label: "Change…", icon: "pencil", onClick: () => setOpen({ dialog: "node", node }), reason: change },
          { label: "Remove", icon: "trash", danger: true, onClick: () => void drop(node), reason: change },
        ]}
      />
    );
  }, [id, config.id, cache, change]);
  const name = `port ${config.port}`;
  return (
    <section className={css.port} aria-label={`Port ${config.port}`}>
      <header className={css.head}>
        <div>
          <h2>
            Port {config.port}, {config.protocol.toUpperCase()}
          </h2>
          <span className="quiet">
            {config.nodes_status.up} up, {config.nodes_status.down} down{config.ssl_commonname && `, certificate of ${config.ssl_commonname}`}
          </span>
        </div>
        <div className={css.buttons}>
          <Disabled reason={change}>
            <Button variant="default" size="xs" leftSection={<Icon name="plus" size={14} />} onClick={() => setOpen({ dialog: "node" })}>
              Add node
            </Button>
          </Disabled>
          <RowMenu
            label={name}
            actions={[
              { label: "Change…", icon: "pencil", onClick: () => setOpen({ dialog: "edit" }), reason: change },
              { label: "Replace all nodes…", icon: "swap", onClick: () => setOpen({ dialog: "rebuild" }), reason: change },
              { label: "Delete…", icon: "trash", danger: true, onClick: () => setOpen({ dialog: "delete" }), reason: change },
            ]}
          />
        </div>
      </header>
      <Table name={`nodes of ${name}`} columns={COLUMNS} query={query} rowKey={(node) => node.id} rowLabel={(node) => node.label} actions={actions} empty={<p className={css.none}>No nodes yet: who connects here is turned away.</p>} />
      {open?.dialog === "edit" && <ConfigDialog id={id} config={config} onClose={close} onDone={done} />}
      {open?.dialog === "node" && <NodeDialog id={id} config={config} node={open.node} onClose={close} onDone={done} />}
      {open?.dialog === "rebuild" && <RebuildDialog id={id} config={config} nodes={query.data?.data ?? []} onClose={close} onDone={done} />}
      {open?.dialog === "delete" && (
        <ConfirmByLabel
          onClose={close}
          verb="Delete"
          label={name}
          onConfirm={async () => {
            await removeConfig(id, config.id);
            await done();
          }}
          lost={<p>Nothing is listened for at this port any more. The instances behind it run on.</p>}
        />
      )}
    </section>
  );
}

const MODES = [
  { value: "accept", label: "Takes its share" },
  { value: "drain", label: "Only who is on it already" },
  { value: "backup", label: "Only if no other is up" },
  { value: "reject", label: "Nothing" },
];
const modeOf = (node: Node) => MODES.find(({ value }) => value === node.mode)?.label;

const COLUMNS: Column<Node>[] = [
  { key: "label", header: "Node", csv: (node) => node.label, cell: (node) => <strong>{node.label}</strong> },
  { key: "status", header: "Health", csv: (node) => node.status, cell: (node) => <Status status={node.status.toLowerCase()} /> },
  { key: "address", header: "Address", csv: (node) => node.address, cell: (node) => <span className="mono">{node.address}</span> },
  { key: "mode", header: "Gets", phone: "hide", csv: (node) => node.mode, cell: modeOf },
  { key: "weight", header: "Weight", align: "right", phone: "hide", csv: (node) => node.weight, cell: (node) => node.weight },
];

interface DialogProps {
  id: number;
  config: Config;
  onClose: () => void;
  onDone: () => unknown;
}

function NodeDialog({ id, config, node, onClose, onDone }: DialogProps & { node?: Node }) {
  const form = useForm({ initialValues: { label: node?.label ?? "", address: node?.address ?? "", weight: node?.weight ?? 100, mode: node?.mode ?? ("accept" as Node["mode"]) } });
  const sending = useSending(form, (values) => (node ? updateNode(id, config.id, node.id, values) : createNode(id, config.id, values)), onDone);
  return (
    <FormDialog title={node ? `Change ${node.label}` : `Add a node to port ${config.port}`} sending={sending} submit={node ? "Save node" : "Add node"} onClose={onClose}>
      <TextInput label="Name" data-autofocus autoComplete="off" {...form.getInputProps("label")} />
      <TextInput label="Address" description="Private address of an instance in the same region, and the port there" placeholder="192.168.128.10:80" autoComplete="off" {...form.getInputProps("address")} />
      <Select label="Gets" allowDeselect={false} data={MODES} {...form.getInputProps("mode")} />
      <NumberInput label="Weight" description="Its share, against that of the others" {...form.getInputProps("weight")} />
    </FormDialog>
  );
}

function RebuildDialog({ id, config, nodes, onClose, onDone }: DialogProps & { nodes: Node[] }) {
  const form = useForm({ initialValues: { nodes: nodes.map((node) => `${node.label} ${node.address}`).join("\n") } });
  const sending = useSending(
    form,
    (values) => {
      const lines = values.nodes.split("\n").map((line) => line.trim().split(/\s+/));
      return rebuild(id, config.id, { nodes: lines.filter(([label]) => label).map(([label = "", address = ""]) => ({ ...keptOf(nodes, label), label, address })) });
    },
    onDone,
  );
  const nodesError = Object.entries(form.errors).find(([key]) => key.startsWith("nodes"));
  const line = nodesError && Number(nodesError[0].split(".")[1]);
  return (
    <FormDialog title={`Nodes of port ${config.port}`} lead="All at once: one node a line, its name and its address. Those that are not named are removed." sending={sending} submit="Replace all nodes" onClose={onClose}>
      <Textarea label="Nodes" autosize minRows={5} spellCheck={false} data-autofocus {...form.getInputProps("nodes")} error={nodesError && `${Number.isInteger(line) ? `Line ${Number(line) + 1}: ` : ""}${String(nodesError[1])}`} />
    </FormDialog>
  );
}

/** A node that stays keeps its weight and its mode. */
function keptOf(nodes: Node[], label: string): Partial<Pick<Node, "weight" | "mode">> {
  const node = nodes.find((known) => known.label === label);
  return node ? { weight: node.weight, mode: node.mode } : {};
}
