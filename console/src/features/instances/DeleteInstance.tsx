/** What deleting an instance takes with it, what it saves, and the deletion itself. */
import { useQuery } from "@tanstack/react-query";

import type { Instance } from "../../api/client";
import { ConfirmByLabel } from "../../ui/Confirm";
import { PriceChange } from "../../ui/PriceChange";
import { size } from "../../ui/words";
import { cost, deletion, remove } from "./queries";

export function DeleteInstance({ one, onClose, onGone }: { one: Instance; onClose: () => void; onGone?: () => unknown }) {
  const plan = useQuery(deletion(one.id));
  const paid = useQuery(cost(one.id));
  return (
    <ConfirmByLabel
      onClose={onClose}
      verb="Delete"
      label={one.label}
      onConfirm={async () => {
        await remove(one.id);
        await onGone?.();
      }}
      lost={
        <>
          <p>These are given up for good:</p>
          <ul>
            <li>its disks, up to {size(one.specs.disk)}, and its configurations</li>
            {one.backups.enabled && <li>all its backups, the snapshot too</li>}
            <li>
              {one.ipv4.length > 1 ? "the addresses " : "the address "}
              <code>{one.ipv4.join(", ")}</code>
            </li>
          </ul>
          <PriceChange price={plan.data?.price} before={paid.data} stale={plan.isFetching} />
        </>
      }
    />
  );
}
