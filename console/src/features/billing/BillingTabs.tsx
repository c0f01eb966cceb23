/** The parts of billing. */
import { Tabs } from "../../ui/Tabs";

const TABS = [
  { to: "/billing", label: "Overview", exact: true },
  { to: "/billing/invoices", label: "Invoices" },
  { to: "/billing/payments", label: "Payments and cards" },
];

export const BillingTabs = () => <Tabs label="Parts of billing" tabs={TABS} />;
