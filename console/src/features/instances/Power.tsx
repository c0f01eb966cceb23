/** What can be ordered of one instance. What is not possible now stays in the menu and says why. */
import { Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";

import type { Instance } from "../../api/client";
import { useProgress } from "../../live/progress";
import { Disabled } from "../../ui/Disabled";
import { Icon } from "../../ui/Icon";
import { LazyMenu } from "../../ui/LazyMenu";
import { usePermissions } from "../profile/permissions";
import { type Order, refusalOf, usePower } from "./queries";

const ORDERS: { order: Order; label: string; icon: "power" | "reboot" }[] = [
  { order: "boot", label: "Boot", icon: "power" },
  { order: "reboot", label: "Reboot", icon: "reboot" },
  { order: "shutdown", label: "Shut down", icon: "power" },
];

interface Props {
  instance: Instance;
  onRemove?: (instance: Instance) => void;
}

export function Power({ instance, onRemove }: Props) {
  return (
    <LazyMenu label={`Actions for ${instance.label}`}>
      <Orders instance={instance} onRemove={onRemove} />
    </LazyMenu>
  );
}

function Orders({ instance, onRemove }: Props) {
  const power = usePower();
  const denied = usePermissions().change("compute", instance.id);
  const busy = useProgress("compute", instance.id) !== undefined;
  return (
    <>
      {ORDERS.map(({ order, label, icon }) => (
        <Disabled key={order} reason={denied ?? refusalOf(instance, order, busy)}>
          <Menu.Item
            leftSection={<Icon name={icon} size={16} />}
            onClick={() => power.mutate({ instance, order }, { onError: (error) => notifications.show({ title: `${label}: ${instance.label}`, message: error.message, color: "red.8" }) })}
          >
            {label}
          </Menu.Item>
        </Disabled>
      ))}
      {onRemove && (
        <>
          <Menu.Divider />
          <Disabled reason={denied}>
            <Menu.Item color="red.8" leftSection={<Icon name="trash" size={16} />} onClick={() => onRemove(instance)}>
              Delete…
            </Menu.Item>
          </Disabled>
          </>
        )}
    </>
  );
}
