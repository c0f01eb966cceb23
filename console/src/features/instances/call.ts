/** A call as one would type it: with curl, and with the command line. Secrets stand as variables. */
const SECRETS: Record<string, string> = { root_pass: "ROOT_PASS" };

const quoted = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** JSON in single quotes, in which a secret ends the quotes for the shell to fill it in. */
function json(body: object): string {
  const secret = Object.entries(SECRETS).reduce<Record<string, unknown>>((kept, [name, variable]) => (name in kept ? { ...kept, [name]: `\u0000${variable}\u0000` } : kept), { ...body });
  const text = JSON.stringify(secret, null, 2).replaceAll("'", "'\\''");
  return `'${text.replace(/"\\u0000(\w+)\\u0000"/g, `"'"$$$1"'"`)}'`;
}

export function asCurl(path: string, body: object): string {
  return `curl -H "Authorization: Bearer $CROFTER_TOKEN" \\\n  $CROFTER_URL/v4${path} \\\n  --json ${json(body)}`;
}

export function asCommand(words: string, body: object): string {
  const flags = Object.entries(body).flatMap(([name, value]) => flagsOf(name.replaceAll("_", "-"), name, value as unknown));
  return [`crofter ${words}`, ...flags].join(" \\\n  ");
}

function flagsOf(flag: string, name: string, value: unknown): string[] {
  if (name in SECRETS) return [`--${flag} "$${SECRETS[name]}"`];
  if (typeof value === "boolean") return [value ? `--${flag}` : `--no-${flag}`];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => [`--${flag} ${quoted(typeof item === "object" ? JSON.stringify(item) : String(item))}`]);
  return [`--${flag} ${quoted(typeof value === "object" ? JSON.stringify(value) : String(value))}`];
}
