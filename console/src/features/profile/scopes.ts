/** What the scopes of tokens and apps mean, in the sentences of the consent page. */
export const SENTENCES: Record<string, readonly [sees: string, changes: string]> = {
  account: ["See your account: billing, invoices, users, tickets", "Change your account: pay, manage users and tokens, open tickets"],
  computes: ["See your instances, their disks and backups", "Create, change and delete instances, their disks and backups"],
  volumes: ["See your volumes", "Create, change and delete volumes"],
  images: ["See your images", "Create, change and delete images"],
  stackscripts: ["See your StackScripts", "Create, change and delete StackScripts"],
  ips: ["See your IP addresses", "Change and move your IP addresses"],
  domains: ["See your domains and their records", "Change your domains and their records"],
  nodebalancers: ["See your load balancers", "Create, change and delete load balancers"],
  firewall: ["See your firewalls", "Create, change and delete firewalls"],
  databases: ["See your databases", "Create, change and delete databases"],
  lke: ["See your clusters", "Create, change and delete clusters"],
  object_storage: ["See your object storage", "Change your object storage and its keys"],
  longview: ["See your Longview clients", "Create, change and delete Longview clients"],
  events: ["See what has happened on your account", "Mark events as seen"],
  maintenance: ["See planned maintenance", "Change planned maintenance"],
};
export type Level = "none" | "read_only" | "read_write";
export type Levels = Record<string, Level>;

export const EVERYTHING = "*";

/** One sentence for each scope that is held; what allows everything is one sentence. */
export function sentences(scopes: string): string[] {
  const held = scopes.split(/[\s,]+/).filter(Boolean);
  if (held.includes(EVERYTHING)) return ["Everything that you may do, on all of your account"];
  return held.map((scope) => {
    const [resource = "", level] = scope.split(":");
    return SENTENCES[resource]?.[level === "read_write" ? 1 : 0] ?? scope;
  });
}

export function scopesOf(levels: Levels): string {
  return Object.entries(levels)
    .filter(([, level]) => level !== "none")
    .map(([resource, level]) => `${resource}:${level}`)
    .join(" ");
}
