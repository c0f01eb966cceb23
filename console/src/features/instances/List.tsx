import { Button } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";

import type { Instance, Schemas } from "../../api/client";
import { useProgress } from "../../live/progress";
import { Ago, Tags, TwoLines } from "../../ui/Cell";
import { ConfirmByLabel } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { Empty, Page } from "../../ui/Page";
import { Status } from "../../ui/Status";
import { type Column, Table } from "../../ui/Table";
import { count, money, size } from "../../ui/words";
import { useMay } from "../profile/may";
import { Power } from "./Power";
import { instances, remove, types } from "./queries";

const route = getRouteApi("/instances");
const CURL = 'curl -H "Authorization: Bearer $TOKEN" \\\n  $CROFTER/v4/compute/instances --json \'{"type": "g6-nanode-1", "region": "eu-west"}\'';

export default function List() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = useQuery({ ...instances(search), placeholderData: keepPreviousData });
  const catalogue = useQuery(types);
  const may = useMay();
  const [doomed, setDoomed] = useState<Instance | null>(null);
  const columns = useMemo(() => columnsWith(new Map((catalogue.data?.data ?? []).map((type) => [type.id, type]))), [catalogue.data]);
  const actions = useMemo(() => (one: Instance) => <Power one={one} onRemove={setDoomed} />, []);
  const create = (
    <Disabled reason={may.create("add_computes")}>
      <Button component={Link} to="/instances/new" leftSection={<Icon name="plus" size={16} />}>
        Create instance
      </Button>
    </Disabled>
  );

  return (
    <Page title="Instances" wide lead={query.data && <Counts all={query.data.data} results={query.data.results} />} actions={create}>
      <Table
        name="instances"
        columns={columns}
        query={query}
        rowKey={(one) => one.id}
        rowLabel={(one) => one.label}
        search={search}
        onSearch={(change) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true })}
        find="Find by name, tag or address"
        filtered={Boolean(search.tag || search.region)}
        actions={actions}
        empty={
          <Empty icon="server" title="No instances yet" command={CURL} action={create}>
            An instance is a machine of your own. It is ready in a minute, and you pay by the hour for as long as it exists.
          </Empty>
        }
      />
      {doomed && (
        <ConfirmByLabel
          opened
          onClose={() => setDoomed(null)}
          verb="Delete"
          label={doomed.label}
          onConfirm={() => remove(doomed.id)}
          lost={
            <p>
              Its disks, {doomed.backups.enabled && "its backups, "}its configurations and the address <code>{doomed.ipv4[0]}</code> are given up for good. It stops costing money.
            </p>
          }
        />
      )}
    </Page>
  );
}

function Counts({ all, results }: { all: Instance[]; results: number }) {
  if (results > all.length) return <>{count(results, "instance")}</>;
  const running = all.filter((one) => one.status === "running").length;
  const offline = all.filter((one) => one.status === "offline").length;
  const busy = all.length - running - offline;
  return (
    <>
      {running} running, {offline} offline{busy > 0 && `, ${busy} changing`}
    </>
  );
}

/** Redrawn alone while something is under way: the row around it is not. */
function State({ one }: { one: Instance }) {
  return <Status status={one.status} event={useProgress("compute", one.id)} />;
}

function columnsWith(types: Map<string, Schemas["TypeView"]>): Column<Instance>[] {
  const monthly = (one: Instance) => {
    const type = types.get(one.type);
    return (type?.price.monthly ?? 0) + (one.backups.enabled ? (type?.addons.backups.price.monthly ?? 0) : 0);
  };
  return [
    {
      key: "label",
      header: "Name",
      sort: "label",
      csv: (one) => one.label,
      cell: (one) => (
        <TwoLines
          under={
            <>
              <Tags tags={one.tags} />
              <Ago time={one.created} />
            </>
          }
        >
          <Link to="/instances/$id" params={{ id: one.id }}>
            {one.label}
          </Link>
        </TwoLines>
      ),
    },
    { key: "status", header: "Status", width: 230, phone: "wide", csv: (one) => one.status, cell: (one) => <State one={one} /> },
    { key: "ipv4", header: "Address", csv: (one) => one.ipv4.join(" "), cell: (one) => one.ipv4[0] && <Copyable text={one.ipv4[0]} what="address" /> },
    {
      key: "type",
      header: "Plan",
      phone: "hide",
      csv: (one) => one.type,
      cell: (one) => <TwoLines under={`${one.specs.vcpus} vCPU, ${size(one.specs.disk)}`}>{types.get(one.type)?.label ?? one.type}</TwoLines>,
    },
    { key: "region", header: "Region", sort: "region", phone: "hide", csv: (one) => one.region, cell: (one) => one.region },
    {
      key: "price",
      header: "Price",
      align: "right",
      csv: monthly,
      cell: (one) => <TwoLines under={one.status === "offline" ? "still billed" : "a month"}>{types.has(one.type) && money(monthly(one))}</TwoLines>,
    },
  ];
}
