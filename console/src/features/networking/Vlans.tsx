import { useQuery } from "@tanstack/react-query";

import { Ago } from "../../ui/Cell";
import { Empty, Page } from "../../ui/Page";
import { type Column, Table } from "../../ui/Table";
import { count } from "../../ui/words";
import { type Vlan, vlans } from "./queries";
import { NetworkTabs } from "./Tabs";

export default function Vlans() {
  const query = useQuery(vlans);
  return (
    <Page title="VLANs" wide>
      <NetworkTabs />
      <Table
        name="VLANs"
        columns={COLUMNS}
        query={query}
        rowKey={(vlan) => `${vlan.region} ${vlan.label}`}
        rowLabel={(vlan) => vlan.label}
        empty={
          <Empty icon="link" title="No VLANs yet" command={'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4beta/networking/vlans'}>
            A VLAN joins instances of one region in a network of their own. It is there as soon as a configuration of an instance names it.
          </Empty>
        }
      />
    </Page>
  );
}

const COLUMNS: Column<Vlan>[] = [
  { key: "label", header: "Name", csv: (vlan) => vlan.label, cell: (vlan) => <strong>{vlan.label}</strong> },
  { key: "region", header: "Region", csv: (vlan) => vlan.region, cell: (vlan) => vlan.region },
  { key: "computes", header: "Joined by", align: "right", csv: (vlan) => vlan.computes.join(" "), cell: (vlan) => count(vlan.computes.length, "instance") },
  { key: "created", header: "Created", phone: "hide", csv: (vlan) => vlan.created, cell: (vlan) => <Ago time={vlan.created} /> },
];
