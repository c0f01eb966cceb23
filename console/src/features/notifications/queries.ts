/** What the account should know now. The server works it out from how things are, so it is asked now and then. */
import { queryOptions } from "@tanstack/react-query";

import { api, body, type Schemas } from "../../api/client";

export type Notification = Schemas["NotificationView"];

export const notifications = queryOptions({
  queryKey: ["notifications", "list"],
  queryFn: () => body(api.GET("/account/notifications")),
  refetchInterval: 60_000,
});

/** Two with the same name are the same: notifications have no id. */
export const nameOf = (notification: Notification): string => [notification.type, notification.entity?.type, notification.entity?.id, notification.label].join("/");
