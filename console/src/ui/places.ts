/** Where the console shows an object that the API names by type and id; undefined where it has no page. */
const PLACES: Record<string, (id: string, label: string) => string> = {
  compute: (id) => `/instances/${id}`,
  volume: () => "/volumes",
  image: () => "/images",
  stackscript: (id) => `/stackscripts/${id}`,
  firewall: (id) => `/firewalls/${id}`,
  nodebalancer: (id) => `/nodebalancers/${id}`,
  domain: (id) => `/domains/${id}`,
  longview: () => "/longview",
  ticket: (id) => `/tickets/${id}`,
  tag: (_, label) => `/tags/${encodeURIComponent(label)}`,
  user: (_, label) => `/users/${encodeURIComponent(label)}`,
  managed_service: () => "/managed",
  account: () => "/account",
  payment: () => "/billing/payments",
  invoice: (id) => `/billing/invoices/${id}`,
};

export function placeOf(entity: { type: string; id: unknown; label?: string | null } | null | undefined): string | undefined {
  return entity ? PLACES[entity.type]?.(String(entity.id), entity.label ?? "") : undefined;
}
