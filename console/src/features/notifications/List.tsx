import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { NotificationText } from "../../shell/Banners";
import { Icon } from "../../ui/Icon";
import { Card, Empty, ErrorMessage, Page } from "../../ui/Page";
import { count, fullTime, words } from "../../ui/words";
import css from "./List.module.css";
import { nameOf, type Notification, notifications } from "./queries";

const CURL = 'curl -H "Authorization: Bearer $TOKEN" $CROFTER/v4/account/notifications';
const GROUPS: [Notification["severity"], string][] = [
  ["critical", "Critical"],
  ["major", "Important"],
  ["minor", "Good to know"],
];

export default function List() {
  const query = useQuery(notifications);
  const all = query.data?.data ?? [];
  return (
    <Page title="Notifications" lead={query.data && (all.length === 0 ? "What your account should know" : `${count(all.length, "notification")}; each goes when its cause does`)}>
      {query.isError ? (
        <ErrorMessage error={query.error} again={() => void query.refetch()} />
      ) : query.isPending ? (
        <Skeleton height={160} radius={10} />
      ) : all.length === 0 ? (
        <Card flush>
          <Empty icon="bell" title="Nothing to tell you" command={CURL}>
            Outages, announced maintenance, payments that are due and tickets that wait for you are told here, and above every page.
          </Empty>
        </Card>
      ) : (
        <div className={css.groups}>
          {GROUPS.map(([severity, title]) => (
            <Group key={severity} title={title} entries={all.filter((notification) => notification.severity === severity)} />
          ))}
        </div>
      )}
    </Page>
  );
}

function Group({ title, entries }: { title: string; entries: Notification[] }) {
  if (entries.length === 0) return null;
  return (
    <Card title={title}>
      <ul className={css.list}>
        {entries.map((notification) => (
          <li key={nameOf(notification)} data-severity={notification.severity}>
            <Icon name={notification.severity === "critical" ? "warn" : "bell"} size={16} />
            <div>
              <NotificationText notification={notification} />
              {notification.body && notification.body !== notification.message && <p className={css.body}>{notification.body}</p>}
              <p className="quiet">
                {words(notification.type)}
                {notification.until && `, until ${fullTime(notification.until)}`}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}
