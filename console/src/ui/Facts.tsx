/** Names and values of one object, below each other. */
import type { ReactNode } from "react";

import css from "./Facts.module.css";

export function Facts({ rows }: { rows: [string, ReactNode][] }) {
  return (
    <dl className={css.facts}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
