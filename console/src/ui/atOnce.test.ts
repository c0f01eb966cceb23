import { expect, test } from "vitest";

import { atOnce } from "./atOnce";

test("many orders go out four at a time, and those that fail are told", async () => {
  let open = 0;
  let most = 0;
  const failed = await atOnce([1, 2, 3, 4, 5, 6, 7, 8, 9], async (item) => {
    most = Math.max(most, ++open);
    await new Promise((resolve) => setTimeout(resolve, 1));
    open--;
    if (item === 5) throw new Error("busy");
  });
  expect(most).toBe(4);
  expect(failed.map(({ item }) => item)).toEqual([5]);
});
