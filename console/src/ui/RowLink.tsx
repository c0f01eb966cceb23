/**
 * A link in a row of a list. The router's own asks for every link whether it is the page that is shown, and again on
 * every change of the address: of a page of a hundred rows that was a fifth of what it cost.
 */
import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";

interface Props {
  /** The path in the console, with all of its parts filled in. */
  to: string;
  onClick?: () => void;
  children: ReactNode;
}

const MEANT_MS = 50;
/** The row that the mouse is over: only where it stays does the page begin to load. */
let over: number | undefined;

export function RowLink({ to, onClick, children }: Props) {
  const router = useRouter();
  const leave = () => window.clearTimeout(over);
  const enter = () => {
    leave();
    over = window.setTimeout(() => void router.preloadRoute({ to }).catch(() => undefined), MEANT_MS); // the page itself says what is wrong
  };
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return; // the browser's own: a new tab, a file
    event.preventDefault();
    onClick?.();
    void router.navigate({ to });
  };
  return (
    <a href={router.basepath + to} onClick={follow} onMouseEnter={enter} onMouseLeave={leave} onFocus={enter} onBlur={leave}>
      {children}
    </a>
  );
}
