import { expect, test } from "vitest";

import { aboutNetworks, START, toBody, toEdited } from "./rules";

test("what the editor holds is what the API sent", () => {
  const sent = toBody(START);
  expect(sent.inbound?.[0]).toEqual({ action: "ACCEPT", protocol: "TCP", ports: "22", label: "ssh", addresses: { ipv4: ["0.0.0.0/0"], ipv6: ["::/0"] } });
  expect(toBody(toEdited(sent as never))).toEqual(sent);
});

test("a description that the editor does not show is kept, also of a rule without a name that is moved", () => {
  const described = { action: "ACCEPT", protocol: "ICMP", addresses: { ipv4: ["0.0.0.0/0"], ipv6: [] }, description: "for the office" } as const;
  const edited = toEdited({ ...toBody(START), inbound: [...(toBody(START).inbound ?? []), described] } as never);
  expect(toBody({ ...edited, inbound: edited.inbound.toReversed() }).inbound?.[0]).toEqual(described);
});

test("a network is blamed by its name", () => {
  const errors = { "inbound.0.addresses.ipv6.0": "Must be a network" };
  expect(aboutNetworks(errors, "inbound.0", ["1.2.3.0/24", "x::/y"])).toBe("x::/y: Must be a network");
  expect(aboutNetworks(errors, "inbound.1", [])).toBeUndefined();
});
