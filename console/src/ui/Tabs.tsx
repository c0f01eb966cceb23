/** Parts of one object, each with an address of its own. */
import { Link } from "@tanstack/react-router";

import css from "./Tabs.module.css";

export interface Tab {
  /** The whole address: `/instances/7/disks`. */
  to: string;
  label: string;
  /** Whether only this very address is the tab's, as for the first one. */
  exact?: boolean;
}

export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  return (
    <nav className={css.tabs} aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.to} to={tab.to} className={css.tab} activeOptions={{ exact: tab.exact ?? false, includeSearch: false }} activeProps={{ "data-active": true, "aria-current": "page" }}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
