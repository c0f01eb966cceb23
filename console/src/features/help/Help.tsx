import { Kbd } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useRouter } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { facts } from "../../facts";
import { navigationOf } from "../../shell/navigation";
import { Copyable } from "../../ui/Copyable";
import { Card, Page } from "../../ui/Page";
import css from "./Help.module.css";

const EVERYWHERE: [string[], string][] = [
  [["Ctrl", "K"], "Jump to a page, an instance or an order by its name"],
  [["c"], "Create one more of what the page is about"],
  [["e"], "What is going on: events beside the page"],
  [["/"], "Find in the list"],
  [["?"], "This page"],
  [["Esc"], "Close a dialog"],
];
const LISTS: [string[], string][] = [
  [["j"], "Next row"],
  [["k"], "Row before"],
  [["x"], "Choose the row"],
  [["Enter"], "Open it"],
];

const description = { queryKey: ["catalogue", "description"], queryFn: async () => ((await (await fetch("/openapi.json")).json()) as { info: { version: string } }).info.version, staleTime: Number.POSITIVE_INFINITY };

export default function Help() {
  const router = useRouter();
  const version = useQuery(description).data;
  const places = navigationOf(router.routesByPath).flatMap((group) => group.entries.flatMap((entry): [string[], string][] => (entry.key ? [[["g", entry.key], entry.label]] : [])));
  return (
    <Page title="Help" lead="Everything here can be done with the keyboard, and by the API">
      <div className={css.grid}>
        <Keys title="Everywhere" keys={EVERYWHERE} />
        <Keys title="Go to" keys={places} note="One after the other" />
        <Keys title="In a list" keys={LISTS} />
        <Card title="More">
          <ul className={css.links}>
            <li>
              <a href="/docs">The description of the API</a>, every call of it
            </li>
            <li>
              <a href="/openapi.json">The same for programs</a> (OpenAPI)
            </li>
            {"/tickets" in router.routesByPath && (
              <li>
                <Link to="/tickets/new">Open a ticket</Link>, if something does not work
              </li>
            )}
          </ul>
        </Card>
        <Card title="Versions">
          <dl className={css.facts}>
            <Fact name="Server">
              <Copyable text={facts.version} what="version" />
            </Fact>
            <Fact name="API">{version ? <Copyable text={version} what="version" /> : "…"}</Fact>
            <Fact name="Mode">{facts.sandbox ? "sandbox: machines are simulated" : "real"}</Fact>
          </dl>
        </Card>
      </div>
    </Page>
  );
}

function Keys({ title, keys, note }: { title: string; keys: [string[], string][]; note?: string }) {
  return (
    <Card title={title} aside={note && <span className="quiet">{note}</span>}>
      <dl className={css.keys}>
        {keys.map(([pressed, what]) => (
          <div key={what}>
            <dt>
              {pressed.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
