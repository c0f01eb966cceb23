/** A list of objects: columns are declared once, and make the table, the cards on phones and the file. */
import { Button, Skeleton, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";

import { Check } from "./Check";
import { csv, type CsvValue, download } from "./csv";
import { Icon } from "./Icon";
import { Card, ErrorMessage } from "./Page";
import { useRowKeys } from "./rowKeys";
import { Rows } from "./Rows";
import { PAGE_SIZE } from "./search";
import css from "./Table.module.css";

export interface Column<T> {
  key: string;
  header: string;
  cell: (row: T) => ReactNode;
  /** What the file holds; a column without it is left out of the file. */
  csv?: (row: T) => CsvValue;
  /** The field of the API that it is ordered by; without it the column cannot be sorted. */
  sort?: string;
  align?: "right";
  /** On phones a row is a card: `hide` leaves the cell out, `wide` gives it a line of its own. */
  phone?: "hide" | "wide";
  width?: number | string;
}
export interface TableSearch {
  q?: string;
  page?: number;
  order?: string;
}
interface Answer<T> {
  data?: { data: T[]; pages: number; results: number };
  isPending: boolean;
  isError: boolean;
  error: unknown;
  isPlaceholderData?: boolean;
  refetch: () => unknown;
}
export interface ListProps<T> {
  /** The plural that people know the rows by, in small letters: `instances`. */
  name: string;
  columns: Column<T>[];
  query: Answer<T>;
  rowKey: (row: T) => string | number;
  rowLabel: (row: T) => string;
  /** What the address holds of the list's state: all of it. Without it there is no paging, sorting or finding. */
  search?: TableSearch;
  /** The text in the search field; without it there is none. */
  find?: string;
  /** Fields beside the search field. */
  filters?: ReactNode;
  /** Whether any filter of one's own is on: then an empty list is not an empty account. */
  filtered?: boolean;
  actions?: (row: T) => ReactNode;
  /** Buttons for the rows that are chosen; with it each row has a box. */
  bulk?: (rows: T[], clear: () => void) => ReactNode;
  empty: ReactNode;
}

type OnSearch = (change: TableSearch) => void;
type Props<T> = ListProps<T> & { onSearch?: OnSearch };

/** Changes what the address holds of a list's state, and nothing else of it. */
export function useSearchChange<S extends object = TableSearch>(): (change: Partial<S>) => void {
  const navigate = useNavigate();
  return (change) => void navigate({ to: ".", search: ((before: object) => ({ ...before, ...change })) as never, replace: true });
}

export function Table<T>(props: ListProps<T>) {
  const { query, search = {}, columns, rowKey } = props;
  const change = useSearchChange();
  const onSearch = props.search && change;
  const rows = useMemo(() => query.data?.data ?? [], [query.data]);
  const [picked, setPicked] = useState<ReadonlySet<string | number>>(new Set());
  const [waited] = useState(query.isPending);
  const body = useRef<HTMLTableSectionElement>(null);
  const chosen = rows.filter((row) => picked.has(rowKey(row)));
  const clear = () => setPicked(new Set());
  const toggle = (key: string | number) => setPicked((before) => flipped(before, key));
  useRowKeys(body, props.bulk ? (index) => rows[index] !== undefined && toggle(rowKey(rows[index])) : undefined);
  // A row that is no longer shown must not be acted on.
  useEffect(() => setPicked(new Set()), [search.page, search.q]);

  if (query.isError) return <ErrorMessage error={query.error} again={() => void query.refetch()} />;
  const narrowed = Boolean(search.q || props.filtered);
  if (!query.isPending && rows.length === 0 && !narrowed && !search.page) return <Card flush>{props.empty}</Card>;
  const actsOnRows = props.actions !== undefined;
  return (
    <Card flush>
      <Tools {...props} onSearch={onSearch} rows={rows} />
      {props.bulk && chosen.length > 0 && (
        <div className={css.bulk} role="region" aria-label={`${chosen.length} ${props.name} chosen`}>
          <strong aria-live="polite">{chosen.length} chosen</strong>
          {props.bulk(chosen, clear)}
          <Button variant="subtle" size="compact-sm" onClick={clear}>
            Clear
          </Button>
        </div>
      )}
      {query.isPending ? (
        <Waiting name={props.name} />
      ) : rows.length === 0 ? (
        <p className={css.nothing}>{search.q ? `None of your ${props.name} match “${search.q}”.` : `None of your ${props.name} match these filters.`}</p>
      ) : (
        <table className={css.table} data-old={query.isPlaceholderData || undefined} aria-rowcount={rows.length + 1} aria-label={`${props.name.charAt(0).toUpperCase()}${props.name.slice(1)}`}>
          <thead>
            <tr>
              {props.bulk && (
                <th scope="col" className={css.box}>
                  <Check
                    label={`Choose all ${props.name} shown`}
                    checked={chosen.length === rows.length}
                    some={chosen.length > 0 && chosen.length < rows.length}
                    onChange={() => setPicked(chosen.length === rows.length ? new Set() : new Set(rows.map(rowKey)))}
                  />
                </th>
              )}
              {columns.map((column) => (
                <Head key={column.key} column={column} order={search.order} onOrder={onSearch && ((order) => onSearch({ order, page: undefined }))} />
              ))}
              {actsOnRows && (
                <th scope="col">
                  <span className="unseen">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <Rows body={body} rows={rows} columns={columns} rowKey={rowKey} rowLabel={props.rowLabel} picked={props.bulk && picked} onPick={toggle} actions={props.actions} inSteps={waited} />
        </table>
      )}
      {query.data && <Paging {...props} onSearch={onSearch} pages={query.data.pages} results={query.data.results} />}
    </Card>
  );
}

function flipped(before: ReadonlySet<string | number>, key: string | number): ReadonlySet<string | number> {
  const after = new Set(before);
  if (!after.delete(key)) after.add(key);
  return after;
}

function Tools<T>({ name, find, filters, search = {}, onSearch, columns, rows }: Props<T> & { rows: T[] }) {
  const look = useDebouncedCallback((q: string) => onSearch?.({ q: q || undefined, page: undefined }), 200);
  const filed = columns.filter((column) => column.csv);
  const save = () => download(`${name.replaceAll(" ", "-")}.csv`, `\ufeff${csv(filed.map((column) => column.header), rows.map((row) => filed.map((column) => column.csv?.(row))))}`);
  if (!find && !filters && filed.length === 0) return null;
  return (
    <div className={css.tools}>
      {find && <TextInput type="search" aria-label={`Find ${name}`} placeholder={find} defaultValue={search.q ?? ""} onChange={(change) => look(change.currentTarget.value)} leftSection={<Icon name="search" size={16} />} className={css.find} />}
      {filters}
      {filed.length > 0 && (
        <Button variant="default" className={css.file} leftSection={<Icon name="download" size={16} />} disabled={rows.length === 0} onClick={save} aria-label={`Save the ${name} shown as CSV`}>
          CSV
        </Button>
      )}
    </div>
  );
}

function Head<T>({ column, order, onOrder }: { column: Column<T>; order?: string; onOrder?: (order: string | undefined) => void }) {
  const sort = column.sort;
  const up = sort !== undefined && order === sort;
  const down = sort !== undefined && order === `-${sort}`;
  const next = up ? `-${sort}` : down ? undefined : sort;
  return (
    <th scope="col" className={column.align && css[column.align]} style={{ width: column.width }} aria-sort={up ? "ascending" : down ? "descending" : undefined}>
      {sort && onOrder ? (
        <button type="button" className={css.sort} data-on={up || down || undefined} onClick={() => onOrder(next)}>
          {column.header}
          <Icon name={down ? "down" : "up"} size={12} />
        </button>
      ) : (
        column.header
      )}
    </th>
  );
}

function Paging<T>({ name, search = {}, onSearch, pages, results }: Props<T> & { pages: number; results: number }) {
  if (!onSearch || results === 0 || pages <= 1) return null;
  const page = search.page ?? 1;
  const first = (page - 1) * PAGE_SIZE + 1;
  return (
    <nav className={css.paging} aria-label={`Pages of ${name}`}>
      <span className="quiet figures">
        {first} to {Math.min(first + PAGE_SIZE - 1, results)} of {results}
      </span>
      <Button variant="default" size="xs" disabled={page <= 1} onClick={() => onSearch({ page: page > 2 ? page - 1 : undefined })}>
        Previous
      </Button>
      <Button variant="default" size="xs" disabled={page >= pages} onClick={() => onSearch({ page: page + 1 })}>
        Next
      </Button>
    </nav>
  );
}

function Waiting({ name }: { name: string }) {
  return (
    <div className={css.waiting} role="status" aria-label={`Loading ${name}`}>
      {[0, 1, 2].map((row) => (
        <Skeleton key={row} height={18} radius={6} width={`${92 - row * 9}%`} />
      ))}
    </div>
  );
}
