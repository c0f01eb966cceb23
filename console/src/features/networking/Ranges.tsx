import { Button, SegmentedControl } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { useSending } from "../../ui/form";
import { FormDialog } from "../../ui/FormDialog";
import { Icon } from "../../ui/Icon";
import { notify } from "../../ui/notify";
import { Empty, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { type Column, Table } from "../../ui/Table";
import { ChooseInstance } from "../instances/Choose";
import { chosenInstance } from "../instances/queries";
import { createRange, type Range, ranges, removeRange } from "./queries";
import { NetworkTabs } from "./Tabs";

export default function Ranges() {
  const cache = useQueryClient();
  const query = useQuery(ranges);
  const [adding, setAdding] = useState(false);
  const [toRemove, setToRemove] = useState<Range | null>(null);
  const actions = useMemo(() => (range: Range) => <RowMenu label={range.range} actions={[{ label: "Give up…", icon: "trash", danger: true, onClick: () => setToRemove(range) }]} />, []);
  const done = (message: string) => {
    setAdding(false);
    notify(message);
    return cache.invalidateQueries({ queryKey: ["networking"] });
  };
  const add = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setAdding(true)}>
      Get a range
    </Button>
  );
  return (
    <Page title="IPv6 ranges" wide actions={add}>
      <NetworkTabs />
      <Table
        name="ranges"
        columns={COLUMNS}
        query={query}
        rowKey={(range) => range.range}
        rowLabel={(range) => range.range}
        actions={actions}
        empty={
          <Empty icon="link" title="No IPv6 ranges yet" command={'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/networking/ipv6/ranges --json \'{"prefix_length": 64, "compute_id": 7}\''}>
            A range is routed to one instance, which then has more addresses than it can use.
          </Empty>
        }
      />
      {adding && <AddDialog onClose={() => setAdding(false)} onDone={() => done("The range is routed")} />}
      {toRemove && (
        <ConfirmByLabel
          onClose={() => setToRemove(null)}
          verb="Give up"
          label={toRemove.range}
          onConfirm={async () => {
            await removeRange(toRemove.range);
            await done(`${toRemove.range} was given up`);
          }}
          lost={<p>Nothing reaches these addresses any more, and somebody else may get them.</p>}
        />
      )}
    </Page>
  );
}

function AddDialog({ onClose, onDone }: { onClose: () => void; onDone: () => unknown }) {
  const form = useForm({ initialValues: { prefix_length: "64", compute_id: null as string | null } });
  const sending = useSending(form, ({ prefix_length, compute_id }) => createRange({ prefix_length: prefix_length === "56" ? 56 : 64, compute_id: chosenInstance(compute_id) }), onDone);
  return (
    <FormDialog title="Get an IPv6 range" sending={sending} submit="Get it" onClose={onClose}>
      <SegmentedControl aria-label="Size of the range" data={[{ value: "64", label: "/64" }, { value: "56", label: "/56: 256 of them" }]} {...form.getInputProps("prefix_length")} />
      <ChooseInstance label="Instance that it is routed to" data-autofocus {...form.getInputProps("compute_id")} />
    </FormDialog>
  );
}

const COLUMNS: Column<Range>[] = [
  { key: "range", header: "Range", csv: (range) => `${range.range}/${range.prefix}`, cell: (range) => <Copyable text={`${range.range}/${range.prefix}`} what="range" /> },
  { key: "target", header: "Routed to", phone: "wide", csv: (range) => range.route_target, cell: (range) => (range.route_target ? <Copyable text={range.route_target} what="address" /> : "an instance") },
  { key: "region", header: "Region", csv: (range) => range.region, cell: (range) => range.region },
];
