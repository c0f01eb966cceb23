/** What can be done with one row: changes, and below a line its end. */
import { ActionIcon, Menu } from "@mantine/core";

import { Icon } from "../../ui/Icon";

type Deed = [label: string, act: () => void];

export function RowMenu({ label, edit, remove }: { label: string; edit: Deed[]; remove: Deed }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${label}`}>
          <Icon name="dots" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {edit.map(([name, act]) => (
          <Menu.Item key={name} leftSection={<Icon name="pencil" size={16} />} onClick={act}>
            {name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item color="red.8" leftSection={<Icon name="trash" size={16} />} onClick={remove[1]}>
          {remove[0]}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
