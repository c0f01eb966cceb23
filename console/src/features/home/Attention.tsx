/** What somebody should look at: notifications and announced maintenance. Not there while there is nothing. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { NotificationText } from "../../shell/Banners";
import { Ago, Time } from "../../ui/Cell";
import { Icon } from "../../ui/Icon";
import { Card } from "../../ui/Page";
import { words } from "../../ui/words";
import { nameOf, notifications } from "../notifications/queries";
import css from "./Home.module.css";
import { maintenance } from "./queries";

export function Attention() {
  const allNotifications = useQuery(notifications).data?.data ?? [];
  // Announced maintenance is a notification too, without its reason: it is shown once.
  const planned = useQuery(maintenance).data?.data ?? [];
  const shown = allNotifications.filter((notification) => !planned.some((work) => work.entity.id === notification.entity?.id && notification.entity?.type === work.entity.type && /maintenance|reboot|migration/.test(notification.type)));
  if (shown.length + planned.length === 0) return null;
  return (
    <div className={css.attention}>
      <Card title="Needs attention">
        <ul className={css.notices}>
          {shown.map((notification) => (
            <li key={nameOf(notification)} data-severity={notification.severity}>
              <Icon name={notification.severity === "critical" ? "warn" : "bell"} size={16} />
              <span>
                <NotificationText notification={notification} />
              </span>
            </li>
          ))}
          {planned.map((work) => (
            <li key={`${work.entity.id}-${work.when}`} data-severity="major">
              <Icon name="wrench" size={16} />
              <span>
                <strong>{words(work.type)} of <Link to="/instances/$id" params={{ id: work.entity.id }}>{work.entity.label}</Link>, <Ago time={work.when} />.</strong> {work.reason} <span className="quiet">(<Time time={work.when} />, {work.status})</span>
              </span>
            </li>
          ))}
        </ul>
      </Card>
    </div>
  );
}
