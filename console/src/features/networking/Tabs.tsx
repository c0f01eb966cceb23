/** Parts of the pages about addresses. */
import { Tabs } from "../../ui/Tabs";

export function NetworkTabs() {
  return (
    <Tabs
      label="Parts of the network"
      tabs={[
        { to: "/networking", label: "Addresses", exact: true },
        { to: "/networking/ranges", label: "IPv6 ranges" },
        { to: "/networking/vlans", label: "VLANs" },
      ]}
    />
  );
}
