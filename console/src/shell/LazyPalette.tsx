/** The palette is loaded when the first page has what it asked for, and before that by whoever wants it. */
import { lazy, Suspense, useEffect, useState } from "react";

import { useSettled } from "./settled";

const Palette = lazy(() => import("./Palette"));
const WANTED = "crofter.palette";

export function openPalette(): void {
  dispatchEvent(new CustomEvent(WANTED));
  void import("./Palette").then(({ open }) => open());
}

export function LazyPalette({ signedIn }: { signedIn: boolean }) {
  const [wanted, setWanted] = useState(false);
  const settled = useSettled(signedIn);
  const there = wanted || settled;
  // Its key is listened for here, always: while it is on its way, nobody else would.
  useEffect(() => {
    const want = () => setWanted(true);
    const press = (key: KeyboardEvent) => {
      if (key.key.toLowerCase() !== "k" || !(key.ctrlKey || key.metaKey) || key.altKey || key.shiftKey) return;
      key.preventDefault();
      openPalette();
    };
    addEventListener("keydown", press);
    addEventListener(WANTED, want);
    return () => {
      removeEventListener("keydown", press);
      removeEventListener(WANTED, want);
    };
  }, []);
  return there && (
    <Suspense>
      <Palette />
    </Suspense>
  );
}
