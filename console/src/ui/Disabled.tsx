/** What may not be used now stays where it is and says why, to those who see and to those who listen. */
import { Tooltip } from "@mantine/core";
import { cloneElement, type MouseEvent, type ReactElement, useId } from "react";

/** Around a button, a menu item or a link-button; without a reason it changes nothing. */
export function Disabled({ reason, children }: { reason: string | undefined | false; children: ReactElement<Record<string, unknown>> }) {
  const id = useId();
  if (!reason) return children;
  const refuse = (click: MouseEvent) => {
    click.preventDefault();
    click.stopPropagation();
  };
  const held = cloneElement(children, { "data-disabled": true, "aria-disabled": true, "aria-describedby": id, onClick: refuse, type: "button" });
  return (
    <>
      <Tooltip label={reason} openDelay={100} multiline maw={280} events={{ hover: true, focus: true, touch: true }}>
        {held}
      </Tooltip>
      <span id={id} className="unseen">
        {reason}
      </span>
    </>
  );
}
