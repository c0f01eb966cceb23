/** A menu behind three dots. Until somebody opens it, it is a button and nothing more: a list has a hundred of them. */
import { Menu } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";

import { Icon } from "./Icon";
import css from "./LazyMenu.module.css";

export function LazyMenu({ label, children }: { label: string; children: ReactNode }) {
  const [used, setUsed] = useState(false);
  if (used) return <Opened label={label}>{children}</Opened>;
  return (
    <button type="button" className={css.dots} aria-label={label} aria-haspopup="menu" aria-expanded={false} onClick={() => setUsed(true)}>
      <Icon name="dots" />
    </button>
  );
}

function Opened({ label, children }: { label: string; children: ReactNode }) {
  const target = useRef<HTMLButtonElement>(null);
  const [opened, setOpened] = useState(false);
  useEffect(() => {
    target.current?.focus(); // which the button before it had, and which comes back here when the menu closes
    setOpened(true);
  }, []);
  return (
    <Menu position="bottom-end" opened={opened} onChange={setOpened}>
      <Menu.Target>
        <button type="button" ref={target} className={css.dots} aria-label={label}>
          <Icon name="dots" />
        </button>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
