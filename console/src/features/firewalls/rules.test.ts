import { expect, test } from "vitest";

import { aboutNetworks, START, toBody, toEdited } from "./rules";

test("what the editor holds is what the API sent", () => {
  const sent = toBody(START);
  expect(sent.inbound?.[0]).toEqual({ action: "ACCEPT", protocol: "TCP", ports: "22", label: "ssh", addresses: { ipv4: ["0.0.0.0/0"], ipv6: ["::/0"] } });
  expect(toBody(toEdited(sent as never))).toEqual(sent);
});

test("a description that the editor does not show is kept", () => {
  const before = toBody(START) as never as Parameters<typeof toEdited>[0];
  const [rule] = before.inbound;
  if (rule) rule.description = "for the office";
  expect(toBody(toEdited(before), before).inbound?.[0]?.description).toBe("for the office");
});

test("a network is blamed by its name", () => {
  const errors = { "inbound.0.addresses.ipv6.0": "Must be a network" };
  expect(aboutNetworks(errors, "inbound.0", ["1.2.3.0/24", "x::/y"])).toBe("x::/y: Must be a network");
  expect(aboutNetworks(errors, "inbound.1", [])).toBeUndefined();
});
