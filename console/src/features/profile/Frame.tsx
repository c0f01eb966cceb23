/** What all pages of the profile share: who it is, and the ways between its parts. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { Page } from "../../ui/Page";
import { Tabs } from "../../ui/Tabs";
import { profile } from "./queries";

const TABS = [
  { to: "/profile", label: "You", exact: true },
  { to: "/profile/tokens", label: "Tokens" },
  { to: "/profile/keys", label: "SSH keys" },
  { to: "/profile/two-factor", label: "Two-factor" },
  { to: "/profile/apps", label: "Apps" },
  { to: "/profile/devices", label: "Browsers" },
];

export function Frame({ actions, children }: { actions?: ReactNode; children: ReactNode }) {
  const { data } = useQuery(profile);
  return (
    <Page title="Profile" lead={data && <>{`${data.username}, ${data.restricted ? "restricted: grants say what you may do" : "may do everything on this account"}`}</>} actions={actions}>
      <Tabs label="Parts of your profile" tabs={TABS} />
      {children}
    </Page>
  );
}
