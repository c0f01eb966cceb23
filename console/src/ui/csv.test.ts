import { expect, test } from "vitest";

import { csv } from "./csv";

test("quotes, commas and lines inside of a value stay inside of it", () => {
  expect(csv(["a", "b"], [['say "no"', "x,y"], ["1\n2", null]])).toBe('a,b\r\n"say ""no""","x,y"\r\n"1\n2",\r\n');
});

test("text that a spreadsheet would run is kept from running, numbers are left alone", () => {
  expect(csv(["a", "b"], [["=1+1", -5]])).toBe("a,b\r\n'=1+1,-5\r\n");
});
