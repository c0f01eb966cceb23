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

const edited = (ruleView: Schemas["RuleView"]): EditedRule => ({
  action: ruleView.action,
  protocol: ruleView.protocol,
  ports: ruleView.ports ?? "",
  label: ruleView.label ?? "",
  description: ruleView.description ?? "",
  networks: [...(ruleView.addresses.ipv4 ?? []), ...(ruleView.addresses.ipv6 ?? [])],
});

export const toEdited = (rules: Rules): EditedRules => ({ ...rules, inbound: rules.inbound.map(edited), outbound: rules.outbound.map(edited) });

const isSix = (network: string) => network.includes(":");
export const familyOf = (networks: string[], family: "ipv4" | "ipv6") => networks.filter((network) => isSix(network) === (family === "ipv6"));

function toRule(editedRule: EditedRule): Schemas["RuleBody"] {
  return {
    action: editedRule.action,
    protocol: editedRule.protocol,
    addresses: { ipv4: familyOf(editedRule.networks, "ipv4"), ipv6: familyOf(editedRule.networks, "ipv6") },
    ...(editedRule.ports && editedRule.protocol !== "ICMP" ? { ports: editedRule.ports } : {}),
    ...(editedRule.label ? { label: editedRule.label } : {}),
    ...(editedRule.description ? { description: editedRule.description } : {}),
  };
}

/** As the API takes them. */
export function toBody(rules: EditedRules): Schemas["RulesBody"] {
  return { inbound_policy: rules.inbound_policy, outbound_policy: rules.outbound_policy, inbound: rules.inbound.map(toRule), outbound: rules.outbound.map(toRule) };
}

/** What is wrong with the networks of a rule; the API names each by its place in its family. */
export function aboutNetworks(errors: Record<string, unknown>, path: string, networks: string[]): string | undefined {
  const addressError = Object.entries(errors).find(([key]) => key.startsWith(`${path}.addresses`));
  if (!addressError) return undefined;
  const [, family, place] = addressError[0].slice(path.length + 1).split(".");
  const named = family === "ipv4" || family === "ipv6" ? familyOf(networks, family)[Number(place)] : undefined;
  return named ? `${named}: ${String(addressError[1])}` : String(addressError[1]);
}
