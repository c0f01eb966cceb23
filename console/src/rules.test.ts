/** What holds for every file of the console: which way imports go, and what is never written. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const source = import.meta.dirname;
const files = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : /\.tsx?$/.test(name) && !name.endsWith(".d.ts") && !name.endsWith(".test.ts") ? [relative(source, path)] : [];
  });
const all = files(source);

/** Each layer, and what of this console it may import; a file outside of these folders puts everything together. */
const BELOW: Record<string, string[]> = {
  session: [],
  api: ["session"],
  live: ["api", "session", "facts"],
  ui: ["api", "live", "facts"],
  theme: [],
  shell: ["ui", "live", "session", "facts", "features"],
  features: ["shell", "ui", "live", "api", "session", "facts", "root", "features"],
};
/** A feature knows of another what it asks the server, and what its user is permitted to do; of what is drawn, these few only. */
const OPEN = /^features\/([^/]+\/(queries|permissions)|instances\/Choose|events\/(sentence|Drawer))$/;

function wrong(file: string, imported: string): boolean {
  const layer = file.split("/")[0] ?? "";
  const allowed = BELOW[layer];
  const target = imported.split("/")[0] ?? "";
  if (!allowed || target === layer && layer !== "features") return false;
  if (!allowed.includes(target)) return true;
  const same = layer === "features" && imported.split("/")[1] === file.split("/")[1];
  return target === "features" && !same && !OPEN.test(imported);
}

test("imports go downwards, and a feature knows another by its questions alone", () => {
  expect(wrong("ui/Table.tsx", "features/instances/queries")).toBe(true);
  expect(wrong("features/tags/List.tsx", "features/instances/Power")).toBe(true);
  expect(wrong("api/client.ts", "ui/words")).toBe(true);
  const found = all.flatMap((file) =>
    [...readFileSync(join(source, file), "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)]
      .map((match) => relative(source, join(source, dirname(file), match[1] ?? "")))
      .filter((imported) => wrong(file, imported))
      .map((imported) => `${file} imports ${imported}`),
  );
  expect(found).toEqual([]);
});

test("no markup is made from text, nothing is evaluated, and no token is stored", () => {
  const never = [/dangerouslySetInnerHTML/, /\.innerHTML\b/, /\beval\(/, /new Function\(/, /localStorage\.setItem/];
  expect(all.filter((file) => never.some((pattern) => pattern.test(readFileSync(join(source, file), "utf8"))))).toEqual([]);
});

test("tokens are held by one module", () => {
  const names = /access_token|refresh_token/;
  expect(all.filter((file) => names.test(readFileSync(join(source, file), "utf8")))).toEqual(["session/session.ts"]);
});

test("whatever could not be answered for the moment is asked for again", () => {
  expect(all.filter((file) => /retry: false/.test(readFileSync(join(source, file), "utf8")))).toEqual([]);
});
