/** What a dialog about an operation is given, and what it does once the order is accepted. */
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";

import type { Instance } from "../../../api/client";

export interface DialogProps {
  instance: Instance;
  onClose: () => void;
}

/** Close, say what has begun, and look at instances again; the events tell the rest. */
export function useBegun(onClose: () => void, message: string): () => Promise<void> {
  const cache = useQueryClient();
  return async () => {
    onClose();
    notifications.show({ message, color: "croft" });
    await cache.invalidateQueries({ queryKey: ["instances"] });
  };
}
