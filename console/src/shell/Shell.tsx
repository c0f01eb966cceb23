/** What surrounds every page: navigation, the way to everything, who is signed in, and how the server is doing. */
import { ActionIcon, Kbd, Menu, UnstyledButton, useComputedColorScheme } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useRouter, useRouterState } from "@tanstack/react-router";
import { memo, useEffect, useState } from "react";

import { facts } from "../facts";
import { profile } from "../features/profile/queries";
import { follow, type LineState } from "../live/follow";
import { useCountUnderWay } from "../live/progress";
import { session } from "../session/session";
import { Icon, Mark } from "../ui/Icon";
import { useClock, useNow } from "../ui/now";
import { showTimesIn, words } from "../ui/words";
import { Banners } from "./Banners";
import { useColours, useKeptColours } from "./colours";
import { EventsButton } from "./EventsButton";
import { LazyPalette, openPalette } from "./LazyPalette";
import { navigationOf } from "./navigation";
import css from "./Shell.module.css";
import { useSettled } from "./settled";
import { useShortcuts } from "./shortcuts";
import { SignInAgain } from "./SignInAgain";

export function Shell() {
  const line = useLine();
  const signedIn = useQuery(profile).isSuccess;
  const shown = useRouterState({ select: (router) => router.resolvedLocation?.pathname });
  const [open, setOpen] = useState(false);
  useShortcuts();
  useShownEntry();
  return (
    <div className={css.shell} data-signed-in={signedIn || undefined}>
      <a className={css.skip} href="#main">
        Skip to the page
      </a>
      <aside className={css.sidebar}>
        <Link to="/" className={css.mark} aria-label="crofter, home">
          <Mark /> <span>crofter</span>
        </Link>
        <UnstyledButton className={css.search} onClick={openPalette} aria-label="Jump to… (Ctrl K)">
          <Icon name="search" size={16} />
          <span>Jump to…</span>
          <Kbd size="xs">Ctrl K</Kbd>
        </UnstyledButton>
        <ActionIcon className={css.menuButton} variant="default" size="lg" aria-label="All pages" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name={open ? "cross" : "menu"} />
        </ActionIcon>
        <nav aria-label="Main" className={css.nav} data-open={open || undefined} onClick={() => setOpen(false)}>
          <Entries />
        </nav>
        <div className={css.foot}>
          <Person line={line} />
        </div>
      </aside>
      <main id="main" className={css.main} tabIndex={-1} data-page={shown}>
        {facts.sandbox && <SandboxBanner signedIn={signedIn} />}
        {line === "broken" && (
          <p className={css.broken} role="status">
            <Icon name="warn" size={16} /> The connection to the server is lost. Trying again; what you see may be old.
          </p>
        )}
        <Banners />
        <Outlet />
      </main>
      <SignInAgain />
      <LazyPalette signedIn={signedIn} />
    </div>
  );
}

/** Not drawn again with what is around them: each asks the router whether it is the page that is shown. */
const Entries = memo(function Entries() {
  const groups = navigationOf(useRouter().routesByPath);
  return groups.map((group, index) => (
    <div key={group.label || index} className={css.group} role="group" aria-label={group.label || "General"}>
      {group.label && <span className={css.groupName}>{group.label}</span>}
      {group.entries.map((entry) => (
        <Link key={entry.to} to={entry.to} className={css.entry} activeOptions={{ exact: entry.to === "/", includeSearch: false }} activeProps={{ "data-active": true, "aria-current": "page" }}>
          <Icon name={entry.icon} /> {entry.label}
          {entry.to === "/instances" && <UnderWay />}
        </Link>
      ))}
    </div>
  ));
});

/** The sidebar is longer than many windows: where one is stays in sight. */
function useShownEntry(): void {
  const place = useLocation({ select: (at) => at.pathname });
  useEffect(() => {
    // With the next frame, which lays the page out anyhow.
    const frame = requestAnimationFrame(() => document.querySelector("nav [aria-current=page]")?.scrollIntoView({ block: "nearest" }));
    return () => cancelAnimationFrame(frame);
  }, [place]);
}

/** Follows events as long as somebody is signed in. What failed is said; what went well shows by itself. */
function useLine(): LineState {
  const cache = useQueryClient();
  const [line, setLine] = useState<LineState>("connecting");
  const [sessions, setSessions] = useState(0);
  useEffect(() => session.onChange((state) => state === "found" && setSessions((before) => before + 1)), []);
  useEffect(
    () =>
      follow(cache, setLine, (event) => {
        if (event.status !== "failed") return;
        notifications.show({
          title: `${words(event.action)} failed${event.entity?.label ? `: ${event.entity.label}` : ""}`,
          message: event.message || "No reason was given.",
          color: "red.8",
          autoClose: false,
        });
      }),
    [cache, sessions], // each session has a stream of its own
  );
  return line;
}

function UnderWay() {
  const count = useCountUnderWay();
  if (!count) return null;
  return (
    <span className={css.count} aria-label={`${count} under way`}>
      {count}
    </span>
  );
}

/** Nobody should take a sandbox for the real thing, or its time for theirs. */
function SandboxBanner({ signedIn }: { signedIn: boolean }) {
  const { data } = useClock();
  const now = useNow();
  const settled = useSettled(signedIn); // the first date of a tab takes 35 ms
  return (
    <div className={css.sandbox} role="status" aria-label="Sandbox">
      <Icon name="flask" size={16} />
      <span>
        <strong>Sandbox</strong>: machines and money are simulated.
      </span>
      {data && settled && (
        <Link to={"/sandbox" as string} className="figures">
          {new Date(now).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })} UTC{data.mode === "frozen" && ", the clock stands"}
        </Link>
      )}
    </div>
  );
}

function Person({ line }: { line: LineState }) {
  const { data } = useQuery(profile);
  useEffect(() => showTimesIn(data?.timezone), [data?.timezone]);
  const { choose } = useColours();
  useKeptColours();
  const shown = useComputedColorScheme("light");
  const other = shown === "dark" ? "light" : "dark";
  return (
    <div className={css.person}>
      <Menu position="top-start">
        <Menu.Target>
          <UnstyledButton className={css.name} aria-label={`${data?.username ?? "You"}: colours and signing out`}>
            <span className={css.avatar} data-line={line} aria-hidden="true">
              {(data?.username ?? "?").charAt(0).toUpperCase()}
            </span>
            <span className={css.who}>
              {data?.username ?? "…"}
              <small>{data?.email}</small>
            </span>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>Colours</Menu.Label>
          <Menu.Item leftSection={<Icon name="sun" size={16} />} onClick={() => choose("light")}>
            Light
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="moon" size={16} />} onClick={() => choose("dark")}>
            Dark
          </Menu.Item>
          <Menu.Item onClick={() => choose("auto")}>As my system</Menu.Item>
          <Menu.Divider />
          <Menu.Item leftSection={<Icon name="path" size={16} />} onClick={() => void session.signOut()}>
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <EventsButton />
      <ActionIcon variant="subtle" color="gray" aria-label={`Change to ${other} colours`} onClick={() => choose(other)}>
        <Icon name={shown === "dark" ? "sun" : "moon"} />
      </ActionIcon>
    </div>
  );
}
