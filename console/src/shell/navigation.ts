/** The pages that the navigation leads to, in its order. An entry is shown once a route has its address. */
import { facts } from "../facts";
import type { IconName } from "../ui/Icon";

export interface Entry {
  to: string;
  label: string;
  icon: IconName;
  /** The key that leads there after `g`. */
  key?: string;
  /** Other words that people look for it by. */
  keywords?: string[];
}
export interface Group {
  label: string;
  entries: Entry[];
}

export const NAVIGATION: Group[] = [
  { label: "", entries: [{ to: "/", label: "Home", icon: "home", key: "h" }] },
  {
    label: "Compute",
    entries: [
      { to: "/instances", label: "Instances", icon: "server", key: "i", keywords: ["machines", "servers", "computes"] },
      { to: "/volumes", label: "Volumes", icon: "disk", key: "v", keywords: ["storage", "disks"] },
      { to: "/images", label: "Images", icon: "image" },
      { to: "/stackscripts", label: "StackScripts", icon: "script" },
    ],
  },
  {
    label: "Network",
    entries: [
      { to: "/firewalls", label: "Firewalls", icon: "shield", key: "f" },
      { to: "/nodebalancers", label: "Load balancers", icon: "balance", keywords: ["nodebalancers"] },
      { to: "/domains", label: "Domains", icon: "globe", key: "d", keywords: ["dns"] },
      { to: "/networking", label: "Addresses", icon: "link", keywords: ["ips", "ipv6", "vlans"] },
    ],
  },
  {
    label: "Watch",
    entries: [
      { to: "/events", label: "Events", icon: "clock", key: "e", keywords: ["history", "log"] },
      { to: "/managed", label: "Managed", icon: "pulse", key: "m", keywords: ["monitoring", "checks"] },
      { to: "/longview", label: "Longview", icon: "pulse" },
      { to: "/maintenance", label: "Maintenance", icon: "wrench" },
      { to: "/notifications", label: "Notifications", icon: "bell" },
    ],
  },
  {
    label: "Account",
    entries: [
      { to: "/billing", label: "Billing", icon: "receipt", key: "b", keywords: ["invoices", "payments", "cost"] },
      { to: "/tickets", label: "Tickets", icon: "ticket", key: "t", keywords: ["support", "help"] },
      { to: "/tags", label: "Tags", icon: "tag" },
      { to: "/transfers", label: "Transfers", icon: "swap" },
      { to: "/users", label: "Users", icon: "people", key: "u", keywords: ["grants", "team"] },
      { to: "/oauth-clients", label: "OAuth clients", icon: "key", keywords: ["apps"] },
      { to: "/account", label: "Account", icon: "gear", keywords: ["settings"] },
      { to: "/profile", label: "Profile", icon: "person", key: "p", keywords: ["tokens", "ssh keys", "two-factor", "apps", "time zone"] },
    ],
  },
  {
    label: "",
    entries: [...(facts.sandbox ? [{ to: "/sandbox", label: "Sandbox", icon: "flask" as const, key: "s", keywords: ["clock", "faults"] }] : []), { to: "/help", label: "Help", icon: "help", keywords: ["keys", "docs"] }],
  },
];

/** The navigation as far as its pages exist; `known` are the addresses of all routes. */
export function navigationOf(known: Record<string, unknown>): Group[] {
  return NAVIGATION.map((group) => ({ ...group, entries: group.entries.filter((entry) => entry.to in known) })).filter((group) => group.entries.length > 0);
}
