/** Parts of one object, each with an address of its own. */
import { Link, useLocation } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import css from "./Tabs.module.css";

export interface Tab {
  /** The whole address: `/instances/7/disks`. */
  to: string;
  label: string;
  /** Whether only this very address is the tab's, as for the first one. */
  exact?: boolean;
}

export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  const bar = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  // On a phone the bar is wider than the window: the part that is shown must be seen in it.
  useEffect(() => {
    const active = bar.current?.querySelector<HTMLElement>("[data-active]");
    if (bar.current && active) bar.current.scrollLeft = active.offsetLeft - bar.current.offsetLeft - 40;
  }, [pathname]);
  return (
    <nav ref={bar} className={css.tabs} aria-label={label}>
      {tabs.map((tab) => (
        <Link key={tab.to} to={tab.to} className={css.tab} activeOptions={{ exact: tab.exact ?? false, includeSearch: false }} activeProps={{ "data-active": true, "aria-current": "page" }}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
