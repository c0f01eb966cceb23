import { expect, test } from "vitest";

import { listSearch, orderOf } from "./search";

test("an address keeps the filters that its list knows, and nothing else", () => {
  expect(listSearch("tag")({ q: "web", tag: "prod", page: "2", evil: "x", order: "-label" })).toEqual({ q: "web", tag: "prod", page: 2, order: "-label" });
});

test("the first page and what is empty are not written into the address", () => {
  expect(listSearch()({ q: "", page: 1 })).toEqual({});
});

test("a minus turns the order round", () => {
  expect(orderOf("-created")).toEqual({ "+order_by": "created", "+order": "desc" });
});
