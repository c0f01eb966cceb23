/** What deleting an instance takes with it, what it saves, and the deletion itself. */
import { useQuery } from "@tanstack/react-query";

import type { Instance } from "../../api/client";
import { ConfirmByLabel } from "../../ui/Confirm";
import { PriceChange } from "../../ui/PriceChange";
import { size } from "../../ui/words";
import { cost, deletion, remove } from "./queries";

export function DeleteInstance({ instance, onClose, onGone }: { instance: Instance; onClose: () => void; onGone?: () => unknown }) {
  const plan = useQuery(deletion(instance.id));
  const paid = useQuery(cost(instance.id));
  return (
    <ConfirmByLabel
      onClose={onClose}
      verb="Delete"
      label={instance.label}
      onConfirm={async () => {
        await remove(instance.id);
        await onGone?.();
      }}
      lost={
        <>
          <p>These are given up for good:</p>
          <ul>
            <li>its disks, up to {size(instance.specs.disk)}, and its configurations</li>
            {instance.backups.enabled && <li>all its backups, the snapshot too</li>}
            <li>
              {instance.ipv4.length > 1 ? "the addresses " : "the address "}
              <code>{instance.ipv4.join(", ")}</code>
            </li>
          </ul>
          <PriceChange price={plan.data?.price} before={paid.data} stale={plan.isFetching} />
        </>
      }
    />
  );
}
