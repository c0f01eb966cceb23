/** A page that is one list: how many there are, a button that makes another, the table, and dialogs about its rows. */
import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { Disabled } from "./Disabled";
import { Icon, type IconName } from "./Icon";
import { notify } from "./notify";
import { Empty, Page } from "./Page";
import type { ListSearch } from "./search";
import { type ListProps, Table } from "./Table";
import { count } from "./words";

interface Props<T> extends Pick<ListProps<T>, "query" | "columns" | "actions" | "find" | "rowLabel"> {
  title: string;
  /** One of the rows, in small letters: `load balancer`. */
  noun: string;
  search: ListSearch<"tag">;
  /** What stands below the title; without it the number of rows. */
  lead?: (page: { data: T[]; results: number }) => ReactNode;
  /** The page that makes one, and why this user may not. */
  make: { to: string; label: string; held?: string };
  /** Buttons before it. */
  before?: ReactNode;
  /** What the rows are for, shown while there are none. */
  nothing: { icon: IconName; text: string; command: string };
  /** Dialogs. */
  children?: ReactNode;
}

export function ListPage<T extends { id: number | string }>(props: Props<T>) {
  const { title, noun, make, nothing, search, query } = props;
  const button = (
    <Disabled reason={make.held}>
      <Button component={Link} to={make.to} leftSection={<Icon name="plus" size={16} />}>
        {make.label}
      </Button>
    </Disabled>
  );
  const lead = props.lead ?? ((page) => count(page.results, noun));
  return (
    <Page title={title} wide lead={query.data && query.data.results > 0 && lead(query.data)} actions={<>{props.before}{button}</>}>
      <Table
        name={`${noun}s`}
        columns={props.columns}
        query={query}
        rowKey={(row) => row.id}
        rowLabel={props.rowLabel}
        search={search}
        find={props.find ?? "Find by name or tag"}
        filtered={search.tag !== undefined}
        actions={props.actions}
        empty={
          <Empty icon={nothing.icon} title={`No ${noun}s yet`} command={nothing.command} action={button}>
            {nothing.text}
          </Empty>
        }
      />
      {props.children}
    </Page>
  );
}

/** Which dialog of a list is open, and about which row. `done` closes it, says so, and asks for the feature's rows again. */
export function useRowDialog<T, D extends string>(feature: string) {
  const cache = useQueryClient();
  const [open, setOpen] = useState<{ dialog: D; row: T } | null>(null);
  const close = () => setOpen(null);
  return {
    show: (dialog: D, row: T) => setOpen({ dialog, row }),
    /** The row that this dialog is open about. */
    rowOf: (dialog: D) => (open?.dialog === dialog ? open.row : null),
    close,
    done: (message: string) => {
      close();
      notify(message);
      return cache.invalidateQueries({ queryKey: [feature] });
    },
  };
}
