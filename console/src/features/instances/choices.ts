/** What forms about instances offer: keys, people, scripts, firewalls, tags, VLANs. */
import { queryOptions } from "@tanstack/react-query";

import { api, BETA, body } from "../../api/client";

const all = { params: { query: { page_size: 500 } } } as const;

export const sshKeys = queryOptions({ queryKey: ["profile", "sshkeys", "choices"], queryFn: () => body(api.GET("/profile/sshkeys", all)) });
/** A restricted user may not see who else there is. */
export const people = queryOptions({ queryKey: ["users", "choices"], queryFn: () => body(api.GET("/account/users", all)) });
export const scripts = queryOptions({ queryKey: ["stackscripts", "choices"], queryFn: () => body(api.GET("/compute/stackscripts", all)) });
export const firewalls = queryOptions({ queryKey: ["firewalls", "choices"], queryFn: () => body(api.GET("/networking/firewalls", all)) });
export const tags = queryOptions({ queryKey: ["tags", "choices"], queryFn: () => body(api.GET("/tags", all)) });
export const vlans = queryOptions({ queryKey: ["vlans", "choices"], queryFn: () => body(api.GET("/networking/vlans", { ...all, ...BETA })) });

/** A firewall is put in front of an instance by an order to the firewall. */
export const guard = (firewallId: number, instanceId: number) =>
  body(api.POST("/networking/firewalls/{firewallId}/devices", { params: { path: { firewallId } }, body: { id: instanceId, type: "compute" } }));
