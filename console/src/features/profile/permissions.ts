/** Why the user may not do something, in words; undefined while they may, or while that is not known yet. */
import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "../../api/client";
import { grants, profile } from "./queries";

type Grants = Schemas["GrantsView"];
type Global = Exclude<keyof Grants["global"], "account_access">;
type Kind = Exclude<keyof Grants, "global">;

export interface Permissions {
  /** To make something: `permissions.create("add_computes")`. */
  create: (grant: Global) => string | undefined;
  /** To change one object: `permissions.change("compute", 7)`. */
  change: (kind: Kind, id: number) => string | undefined;
  /** To change what belongs to the account itself: billing, users, settings. */
  account: (level?: "read_only" | "read_write") => string | undefined;
  /** What no grant gives: only unrestricted users may. */
  unrestricted: () => string | undefined;
}

export function usePermissions(): Permissions {
  const restricted = useQuery(profile).data?.restricted === true;
  const { data } = useQuery({ ...grants, enabled: restricted });
  return permissionsOf(restricted ? data : null);
}

export function permissionsOf(given: Grants | null | undefined): Permissions {
  return {
    create: (grant) => (!given || given.global[grant] ? undefined : `Your grants do not include ${grant.replaceAll("_", " ")}. An unrestricted user of your account can add it.`),
    change: (kind, id) => {
      if (!given) return undefined;
      const level = (given[kind] ?? []).find((entry) => entry.id === id)?.permissions;
      return level === "read_write" ? undefined : "You may look at this, not change it. An unrestricted user of your account can let you.";
    },
    account: (level = "read_write") => {
      if (!given) return undefined;
      const held = given.global.account_access;
      return held === "read_write" || held === level ? undefined : `Your grants do not include ${level === "read_only" ? "to look at" : "to change"} the account.`;
    },
    unrestricted: () => (given ? "Only unrestricted users of your account may do this." : undefined),
  };
}
