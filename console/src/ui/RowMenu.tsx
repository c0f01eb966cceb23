/** What can be done with one row. What is not possible now stays in the menu and says why. */
import { Menu } from "@mantine/core";

import { Disabled } from "./Disabled";
import { Icon, type IconName } from "./Icon";
import { LazyMenu } from "./LazyMenu";

export interface Action {
  label: string;
  icon: IconName;
  onClick: () => void;
  /** Why it cannot be done now. */
  reason?: string | false;
  /** Something is lost for good: red, and below a line. */
  danger?: boolean;
}

export function RowMenu({ label, actions }: { label: string; actions: Action[] }) {
  const item = (action: Action) => (
    <Disabled key={action.label} reason={action.reason}>
      <Menu.Item color={action.danger ? "red.8" : undefined} leftSection={<Icon name={action.icon} size={16} />} onClick={action.onClick}>
        {action.label}
      </Menu.Item>
    </Disabled>
  );
  const danger = actions.filter((action) => action.danger);
  return (
    <LazyMenu label={`Actions for ${label}`}>
      {actions.filter((action) => !action.danger).map(item)}
      {danger.length > 0 && danger.length < actions.length && <Menu.Divider />}
      {danger.map(item)}
    </LazyMenu>
  );
}

/** Actions by what they are called: changes, and below a line the end of it. */
export function editAndRemove(changes: Record<string, () => void>, ends: Record<string, () => void>): Action[] {
  return [
    ...Object.entries(changes).map(([label, onClick]): Action => ({ label, icon: "pencil", onClick })),
    ...Object.entries(ends).map(([label, onClick]): Action => ({ label, icon: "trash", danger: true, onClick })),
  ];
}
