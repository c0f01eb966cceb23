/** What the account should know, above every page but those that say it themselves. */
import { CloseButton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { useState } from "react";

import { nameOf, type Notification, notifications } from "../features/notifications/queries";
import { Ago } from "../ui/Cell";
import { Icon } from "../ui/Icon";
import { placeOf } from "../ui/places";
import css from "./Banners.module.css";

export function Banners() {
  const { data } = useQuery(notifications);
  const place = useLocation({ select: (at) => at.pathname.replace(/^\/console/, "") });
  const shownByPage = place.length <= 1 || place === "/notifications"; // by the page itself
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const shown = shownByPage ? [] : (data?.data ?? []).filter((notification) => notification.severity !== "minor" && !closed.has(nameOf(notification)));
  if (shown.length === 0) return null;
  return (
    <section className={css.banners} aria-label="Notifications">
      {shown.map((notification) => (
        <div key={nameOf(notification)} className={css.banner} data-severity={notification.severity}>
          <Icon name={notification.severity === "critical" ? "warn" : "bell"} size={16} />
          <span className={css.text}>
            <NotificationText notification={notification} />
          </span>
          <CloseButton size="sm" variant="transparent" aria-label={`Hide: ${notification.label}`} onClick={() => setClosed(new Set([...closed, nameOf(notification)]))} />
        </div>
      ))}
    </section>
  );
}

export function NotificationText({ notification }: { notification: Notification }) {
  const place = notification.type === "payment_due" ? "/billing/payments" : placeOf(notification.entity);
  return (
    <>
      <strong>{notification.label}.</strong> {notification.message}
      {notification.when && (
        <>
          {" "}
          (<Ago time={notification.when} />)
        </>
      )}
      {place && (
        <>
          {" "}
          <Link to={place}>{notification.type === "payment_due" ? "Pay now" : `Go to ${notification.entity?.label ?? "it"}`}</Link>
        </>
      )}
    </>
  );
}
