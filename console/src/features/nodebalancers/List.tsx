import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";

import { TagsAndAge, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { ListPage, useRowDialog } from "../../ui/ListPage";
import { RowLink } from "../../ui/RowLink";
import { RowMenu } from "../../ui/RowMenu";
import type { Column } from "../../ui/Table";
import { size } from "../../ui/words";
import { usePermissions } from "../profile/permissions";
import { type Balancer, balancers, remove } from "./queries";

const route = getRouteApi("/nodebalancers");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/nodebalancers --json \'{"region": "eu-west", "label": "web"}\'';
const TEXT = "A load balancer has one address and shares what arrives there among your instances, leaving out those that do not answer.";

export default function List() {
  const search = route.useSearch();
  const permissions = usePermissions();
  const { show, rowOf, close, done } = useRowDialog<Balancer, "delete">("nodebalancers");
  const actions = useMemo(() => (balancer: Balancer) => <Actions balancer={balancer} onRemove={() => show("delete", balancer)} />, []);
  const toRemove = rowOf("delete");
  return (
    <ListPage
      title="Load balancers"
      noun="load balancer"
      make={{ to: "/nodebalancers/new", label: "Create load balancer", held: permissions.create("add_nodebalancers") }}
      nothing={{ icon: "balance", text: TEXT, command: CURL }}
      columns={COLUMNS}
      query={useQuery(balancers(search))}
      rowLabel={(balancer) => balancer.label}
      search={search}
      find="Find by name, tag or address"
      actions={actions}
    >
      {toRemove && (
        <ConfirmByLabel
          onClose={close}
          verb="Delete"
          label={toRemove.label}
          onConfirm={() => remove(toRemove.id).then(() => done(`${toRemove.label} was deleted`))}
          lost={
            <p>
              Its configurations and the address <code>{toRemove.ipv4}</code> are given up for good. The instances behind it run on. It stops costing money.
            </p>
          }
        />
      )}
    </ListPage>
  );
}

function Actions({ balancer, onRemove }: { balancer: Balancer; onRemove: () => void }) {
  const reason = usePermissions().change("nodebalancer", balancer.id);
  return <RowMenu label={balancer.label} actions={[{ label: "Delete…", icon: "trash", danger: true, onClick: onRemove, reason }]} />;
}

const COLUMNS: Column<Balancer>[] = [
  {
    key: "label",
    header: "Name",
    sort: "label",
    csv: (balancer) => balancer.label,
    cell: (balancer) => (
      <TwoLines under={<TagsAndAge of={balancer} />}>
        <RowLink to={`/nodebalancers/${balancer.id}`}>{balancer.label}</RowLink>
      </TwoLines>
    ),
  },
  { key: "ipv4", header: "Address", sort: "ipv4", csv: (balancer) => balancer.ipv4, cell: (balancer) => <Copyable text={balancer.ipv4} what="address" /> },
  { key: "region", header: "Region", sort: "region", phone: "hide", csv: (balancer) => balancer.region, cell: (balancer) => balancer.region },
  { key: "transfer", header: "Carried this month", align: "right", csv: (balancer) => balancer.transfer.total, cell: (balancer) => size(Math.round(balancer.transfer.total ?? 0)) },
];
