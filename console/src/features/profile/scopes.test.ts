import { expect, test } from "vitest";

import { scopesOf, sentences } from "./scopes";

test("a scope is a sentence, and writing covers reading", () => {
  expect(sentences("volumes:read_only,computes:read_write")).toEqual(["See your volumes", "Create, change and delete instances, their disks and backups"]);
  expect(sentences("*")).toHaveLength(1);
});

test("what is chosen becomes scopes, what is not is left out", () => {
  expect(scopesOf({ volumes: "read_only", images: "none", ips: "read_write" })).toBe("volumes:read_only ips:read_write");
});
