import { Button } from "@mantine/core";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import { Ago, Tags, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { Empty, Page } from "../../ui/Page";
import { RowMenu } from "../../ui/RowMenu";
import { say } from "../../ui/say";
import { type Column, Table } from "../../ui/Table";
import { count, size } from "../../ui/words";
import { useMay } from "../profile/may";
import { type Balancer, balancers, remove } from "./queries";

const route = getRouteApi("/nodebalancers");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/nodebalancers --json \'{"region": "eu-west", "label": "web"}\'';

export default function List() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const cache = useQueryClient();
  const query = useQuery({ ...balancers(search), placeholderData: keepPreviousData });
  const may = useMay();
  const [doomed, setDoomed] = useState<Balancer | null>(null);
  const actions = useMemo(() => (balancer: Balancer) => <Actions balancer={balancer} onRemove={() => setDoomed(balancer)} />, []);
  const create = (
    <Disabled reason={may.create("add_nodebalancers")}>
      <Button component={Link} to="/nodebalancers/new" leftSection={<Icon name="plus" size={16} />}>
        Create load balancer
      </Button>
    </Disabled>
  );
  return (
    <Page title="Load balancers" wide lead={query.data && count(query.data.results, "load balancer")} actions={create}>
      <Table
        name="load balancers"
        columns={COLUMNS}
        query={query}
        rowKey={(balancer) => balancer.id}
        rowLabel={(balancer) => balancer.label}
        search={search}
        onSearch={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        find="Find by name, tag or address"
        filtered={Boolean(search.tag)}
        actions={actions}
        empty={
          <Empty icon="balance" title="No load balancers yet" command={CURL} action={create}>
            A load balancer has one address and shares what arrives there among your instances, leaving out those that do not answer.
          </Empty>
        }
      />
      {doomed && (
        <ConfirmByLabel
          opened
          onClose={() => setDoomed(null)}
          verb="Delete"
          label={doomed.label}
          onConfirm={async () => {
            await remove(doomed.id);
            say(`${doomed.label} was deleted`);
            await cache.invalidateQueries({ queryKey: ["nodebalancers"] });
          }}
          lost={
            <p>
              Its configurations and the address <code>{doomed.ipv4}</code> are given up for good. The instances behind it run on. It stops costing money.
            </p>
          }
        />
      )}
    </Page>
  );
}

function Actions({ balancer, onRemove }: { balancer: Balancer; onRemove: () => void }) {
  const reason = useMay().change("nodebalancer", balancer.id);
  return <RowMenu label={balancer.label} actions={[{ label: "Delete…", icon: "trash", danger: true, onClick: onRemove, reason }]} />;
}

const COLUMNS: Column<Balancer>[] = [
  {
    key: "label",
    header: "Name",
    sort: "label",
    csv: (balancer) => balancer.label,
    cell: (balancer) => (
      <TwoLines
        under={
          <>
            <Tags tags={balancer.tags} />
            <Ago time={balancer.created} />
          </>
        }
      >
        <Link to="/nodebalancers/$id" params={{ id: balancer.id }}>
          {balancer.label}
        </Link>
      </TwoLines>
    ),
  },
  { key: "ipv4", header: "Address", sort: "ipv4", csv: (balancer) => balancer.ipv4, cell: (balancer) => <Copyable text={balancer.ipv4} what="address" /> },
  { key: "region", header: "Region", sort: "region", phone: "hide", csv: (balancer) => balancer.region, cell: (balancer) => balancer.region },
  { key: "transfer", header: "Carried this month", align: "right", csv: (balancer) => balancer.transfer.total, cell: (balancer) => size(Math.round(balancer.transfer.total ?? 0)) },
];
