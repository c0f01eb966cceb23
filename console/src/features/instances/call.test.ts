import { expect, test } from "vitest";

import { asCommand, asCurl } from "./call";

const body = { type: "g6-nanode-1", label: "it's", root_pass: "secret", tags: ["a", "b c"], private_ip: true, booted: false };

test("a call as a command has a flag for each field, and no secret in it", () => {
  expect(asCommand("instances create", body).split(" \\\n  ")).toEqual([
    "crofter instances create",
    "--type g6-nanode-1",
    `--label 'it'\\''s'`,
    '--root-pass "$ROOT_PASS"',
    "--tags a",
    "--tags 'b c'",
    "--private-ip",
    "--no-booted",
  ]);
});

test("a call as curl leaves the secret to the shell", () => {
  const call = asCurl("/compute/instances", body);
  expect(call).toContain(`"root_pass": "'"$ROOT_PASS"'"`);
  expect(call).not.toContain("secret");
});
