/** Keys of a list: `j` and `k` go from row to row, `x` chooses one, Enter follows the link that has the focus. */
import { type RefObject, useEffect } from "react";

import { isFree } from "./keys";

export function useRowKeys(body: RefObject<HTMLTableSectionElement | null>, onPick?: (index: number) => void): void {
  useEffect(() => {
    function press(key: KeyboardEvent): void {
      if (!isFree(key) || !"jkx".includes(key.key) || !body.current) return;
      const rows = [...body.current.rows];
      const at = rows.findIndex((row) => row.contains(document.activeElement));
      if (key.key === "x") {
        if (at >= 0) onPick?.(at);
        return;
      }
      const next = rows[key.key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0)];
      next?.querySelector<HTMLElement>("th a, th button, a, button")?.focus();
    }
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}
