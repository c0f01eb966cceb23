/** The rows of a table. Of a list that had to be waited for those come first that fit into the window, and the rest right after them. */
import { memo, type ReactNode, type RefObject, useEffect, useState } from "react";

import { Check } from "./Check";
import { whenIdle } from "./idle";
import type { Column } from "./Table";
import css from "./Table.module.css";

interface Props<T> {
  body: RefObject<HTMLTableSectionElement | null>;
  rows: T[];
  columns: Column<T>[];
  rowKey: (row: T) => string | number;
  rowLabel: (row: T) => string;
  /** Without it rows have no box. */
  picked?: ReadonlySet<string | number>;
  onPick: (key: string | number) => void;
  actions?: (row: T) => ReactNode;
  /** Not for a list that was there at once: who comes back to one is led to where they were in it, which must be there. */
  inSteps: boolean;
}

/** No row is lower than this, see Table.module.css. */
const LOWEST = 44;

export function Rows<T>({ body, rows, columns, rowKey, rowLabel, picked, onPick, actions, inSteps }: Props<T>) {
  const [whole, setWhole] = useState(!inSteps);
  useEffect(() => (whole ? undefined : whenIdle(() => setWhole(true))), [whole]);
  const drawn = whole ? rows : rows.slice(0, Math.ceil(innerHeight / LOWEST));
  return (
    <tbody ref={body}>
      {drawn.map((row) => (
        <Row
          key={rowKey(row)}
          row={row}
          columns={columns as Column<unknown>[]}
          label={rowLabel(row)}
          picked={picked?.has(rowKey(row))}
          onPick={() => onPick(rowKey(row))}
          actions={actions as ((row: unknown) => ReactNode) | undefined}
        />
      ))}
    </tbody>
  );
}

interface RowProps {
  row: unknown;
  columns: Column<unknown>[];
  label: string;
  picked?: boolean;
  onPick: () => void;
  actions?: (row: unknown) => ReactNode;
}

/** Drawn again only if its object or its box changed: progress is drawn inside of a cell. */
const Row = memo(
  function Row({ row, columns, label, picked, onPick, actions }: RowProps) {
    return (
      <tr data-picked={picked || undefined}>
        {picked !== undefined && (
          <td className={css.box}>
            <Check label={`Choose ${label}`} checked={picked} onChange={onPick} />
          </td>
        )}
        {columns.map((column, index) => {
          const look = { className: column.align && `${css[column.align]} figures`, "data-phone": index === 0 ? "first" : column.phone };
          return index === 0 ? (
            <th key={column.key} scope="row" {...look}>
              {column.cell(row)}
            </th>
          ) : (
            <td key={column.key} {...look}>
              {column.cell(row)}
            </td>
          );
        })}
        {actions && <td className={css.actions}>{actions(row)}</td>}
      </tr>
    );
  },
  (before, after) => before.row === after.row && before.picked === after.picked && before.columns === after.columns && before.actions === after.actions,
);
