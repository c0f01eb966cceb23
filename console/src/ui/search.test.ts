import { expect, test } from "vitest";

import { listCall, listSearch, orderOf } from "./search";

test("an address keeps the filters that its list knows, and nothing else", () => {
  expect(listSearch("tag")({ q: "web", tag: "prod", page: "2", evil: "x", order: "-label" })).toEqual({ q: "web", tag: "prod", page: 2, order: "-label" });
});

test("the first page and what is empty are not written into the address", () => {
  expect(listSearch()({ q: "", page: 1 })).toEqual({});
});

test("a minus turns the order round", () => {
  expect(orderOf("-created")).toEqual({ "+order_by": "created", "+order": "desc" });
});

test("a list is asked for what is typed, its tag and its order, all in one filter", () => {
  const { query, header } = listCall({ q: "web", tag: "prod", page: 3, order: "-label" }, ["label", "ipv4"]);
  expect(query).toEqual({ page: 3, page_size: 100 });
  expect(JSON.parse(header["X-Filter"] ?? "")).toEqual({
    "+and": [{ "+or": [{ label: { "+contains": "web" } }, { ipv4: { "+contains": "web" } }] }, { tags: "prod" }],
    "+order_by": "label",
    "+order": "desc",
  });
  expect(listCall({}, ["label"]).header).toEqual({});
});
