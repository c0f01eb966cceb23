/** What holds for every file of the console: which way imports go, and what is never written. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
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
  const violations = all.flatMap((file) =>
    [...readFileSync(join(source, file), "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)]
      .map((match) => relative(source, join(source, dirname(file), match[1] ?? "")))
      .filter((imported) => wrong(file, imported))
      .map((imported) => `${file} imports ${imported}`),
  );
  expect(violations).toEqual([]);
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

/** Names that say nothing of what they hold, and where a text gives them to a variable, a parameter or a function. */
const VAGUE = new Set(["one", "found"]);
function vagueNames(text: string, file = "page.tsx"): string[] {
  const vague: string[] = [];
  const visit = (node: ts.Node): void => {
    const isNaming = ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node) || ts.isFunctionDeclaration(node);
    if (isNaming && node.name && ts.isIdentifier(node.name) && VAGUE.has(node.name.text)) vague.push(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
  return vague;
}

test("names say what they hold: an instance is no `one`, what was looked for is no `found`", () => {
  expect(vagueNames("const one = 1")).toEqual(["one"]);
  expect(vagueNames("const found = rows.find((one) => one.id === id)")).toEqual(["found", "one"]);
  expect(vagueNames("function Power({ one, ...rest }: Props) { for (const [found] of rows) rest.add(found); }")).toEqual(["one", "found"]);
  expect(vagueNames("const { data: one } = useQuery(instance(id)); function found() {} type Order = (one: Instance) => void")).toEqual(["one", "found", "one"]);
  expect(vagueNames('/** For one. */ const row = { one: x.one, key: ["instances", "one"] }; const text = <p title="found">One is found, one is not.</p>')).toEqual([]);
  const texts = readdirSync(source, { encoding: "utf8", recursive: true }).filter((file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts"));
  expect(texts.length).toBeGreaterThan(all.length); // those of the tests are among them
  expect(texts.flatMap((file) => vagueNames(readFileSync(join(source, file), "utf8"), file).map((name) => `${file}: ${name}`))).toEqual([]);
});

/** Names of classes in a stylesheet, and those that a page takes from it. */
const classes = (sheet: string): string[] => [...sheet.replace(/:global\([^)]*\)|\/\*.*?\*\//gs, "").matchAll(/\.([A-Za-z_][\w-]*)/g)].map((match) => match[1] ?? "");
const taken = (page: string): string[] => [...page.matchAll(/\bcss\.([A-Za-z_]\w*)/g)].map((match) => match[1] ?? "");

/** Classes that only a page names, which then looks like nothing, or only its stylesheet, which then does nothing. */
function unmatched(sheet: string, pages: string): string[] {
  const [styled, named] = [new Set(classes(sheet)), new Set(taken(pages))];
  const unused = pages.includes("css[") ? [] : [...styled].filter((name) => !named.has(name));
  return [...[...named].filter((name) => !styled.has(name)), ...unused];
}

test("pages and their stylesheets name the same classes", () => {
  expect(unmatched(".note { } .note svg { } .dead { } .note :global(.quiet) { }", "css.note css.missing")).toEqual(["missing", "dead"]);
  const pages = new Map<string, string>();
  for (const file of all) {
    const page = readFileSync(join(source, file), "utf8");
    const sheet = /import css from "(\.[^"]+\.module\.css)"/.exec(page)?.[1];
    if (sheet) pages.set(join(dirname(file), sheet), (pages.get(join(dirname(file), sheet)) ?? "") + page);
  }
  expect(pages.size).toBeGreaterThan(40);
  const problems = [...pages].flatMap(([sheet, texts]) => unmatched(readFileSync(join(source, sheet), "utf8"), texts).map((name) => `${sheet}: ${name}`));
  expect(problems).toEqual([]);
});
