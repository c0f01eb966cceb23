/** What is told in the corner of the page: that something was done, or why it was not. */
import { notifications } from "@mantine/notifications";

export const notify = (message: string): void => void notifications.show({ message, color: "croft" });

export const notifyFailed = (title: string, error: unknown): void =>
  void notifications.show({ title, message: error instanceof Error ? error.message : String(error), color: "red.8" });
