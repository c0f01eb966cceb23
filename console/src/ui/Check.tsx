/** A box to tick in a row: the browser's own, in our colours. */
import type { ChangeEventHandler } from "react";

import css from "./Check.module.css";

export function Check({ label, checked, some = false, onChange }: { label: string; checked: boolean; some?: boolean; onChange: ChangeEventHandler }) {
  const mark = (box: HTMLInputElement | null) => {
    if (box) box.indeterminate = some; // there is no attribute for it
  };
  return <input ref={mark} type="checkbox" className={css.check} aria-label={label} checked={checked} onChange={onChange} />;
}
