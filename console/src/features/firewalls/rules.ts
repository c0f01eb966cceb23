/** Rules as the editor holds them: networks of both families in one field. */
import type { Schemas } from "../../api/client";
import type { Rules } from "./queries";

type Policy = "ACCEPT" | "DROP";
export type Direction = "inbound" | "outbound";
export interface EditedRule {
  action: Policy;
  protocol: "TCP" | "UDP" | "ICMP";
  ports: string;
  networks: string[];
  label: string;
  /** Not shown by the editor; it goes back as it came. */
  description: string;
}
export type EditedRules = {
  inbound: EditedRule[];
  inbound_policy: Policy;
  outbound: EditedRule[];
  outbound_policy: Policy;
};

const EVERYWHERE = ["0.0.0.0/0", "::/0"];
const rule = (protocol: EditedRule["protocol"], ports: string, label: string): EditedRule => ({ action: "ACCEPT", protocol, ports, label, description: "", networks: EVERYWHERE });

/** What people let through most. */
export const USUAL: { name: string; rule: EditedRule }[] = [
  { name: "SSH", rule: rule("TCP", "22", "ssh") },
  { name: "Web (HTTP and HTTPS)", rule: rule("TCP", "80, 443", "web") },
  { name: "Ping", rule: rule("ICMP", "", "ping") },
  { name: "Names (DNS)", rule: rule("UDP", "53", "dns") },
  { name: "Something else", rule: { ...rule("TCP", "", ""), networks: [] } },
];

export const START: EditedRules = { inbound: [rule("TCP", "22", "ssh")], inbound_policy: "DROP", outbound: [], outbound_policy: "ACCEPT" };

const edited = (one: Schemas["RuleView"]): EditedRule => ({
  action: one.action,
  protocol: one.protocol,
  ports: one.ports ?? "",
  label: one.label ?? "",
  description: one.description ?? "",
  networks: [...(one.addresses.ipv4 ?? []), ...(one.addresses.ipv6 ?? [])],
});

export const toEdited = (rules: Rules): EditedRules => ({ ...rules, inbound: rules.inbound.map(edited), outbound: rules.outbound.map(edited) });

const isSix = (network: string) => network.includes(":");
export const familyOf = (networks: string[], family: "ipv4" | "ipv6") => networks.filter((network) => isSix(network) === (family === "ipv6"));

function toRule(one: EditedRule): Schemas["RuleBody"] {
  return {
    action: one.action,
    protocol: one.protocol,
    addresses: { ipv4: familyOf(one.networks, "ipv4"), ipv6: familyOf(one.networks, "ipv6") },
    ...(one.ports && one.protocol !== "ICMP" ? { ports: one.ports } : {}),
    ...(one.label ? { label: one.label } : {}),
    ...(one.description ? { description: one.description } : {}),
  };
}

/** As the API takes them. */
export function toBody(rules: EditedRules): Schemas["RulesBody"] {
  return { inbound_policy: rules.inbound_policy, outbound_policy: rules.outbound_policy, inbound: rules.inbound.map(toRule), outbound: rules.outbound.map(toRule) };
}

/** What is wrong with the networks of a rule; the API names each by its place in its family. */
export function aboutNetworks(errors: Record<string, unknown>, path: string, networks: string[]): string | undefined {
  const found = Object.entries(errors).find(([key]) => key.startsWith(`${path}.addresses`));
  if (!found) return undefined;
  const [, family, place] = found[0].slice(path.length + 1).split(".");
  const named = family === "ipv4" || family === "ipv6" ? familyOf(networks, family)[Number(place)] : undefined;
  return named ? `${named}: ${String(found[1])}` : String(found[1]);
}
