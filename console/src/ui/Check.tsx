/** A box to tick in a row: the browser's own, in our colours. */
import { type ChangeEventHandler, useEffect, useRef } from "react";

import css from "./Check.module.css";

export function Check({ label, checked, some = false, onChange }: { label: string; checked: boolean; some?: boolean; onChange: ChangeEventHandler }) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = some;
  }, [some]);
  return <input ref={box} type="checkbox" className={css.check} aria-label={label} checked={checked} onChange={onChange} />;
}
