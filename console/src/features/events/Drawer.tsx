/** What is going on, beside whatever page is open. */
import { Button, Drawer } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { isUnderWay } from "../../live/progress";
import { EventList } from "./EventList";
import css from "./Events.module.css";
import { recent, useMarkSeen } from "./queries";

export default function EventsDrawer({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const events = useQuery(recent).data?.data ?? [];
  const seen = useMarkSeen();
  const ordered = [...events.filter(isUnderWay), ...events.filter((event) => !isUnderWay(event))];
  const newest = events[0];
  const unseen = events.some((event) => !event.seen);
  return (
    <Drawer opened={opened} onClose={onClose} position="right" size={420} title="What is going on" closeButtonProps={{ "aria-label": "Close" }} overlayProps={{ backgroundOpacity: 0.25 }}>
      <div className={css.drawerHead}>
        <Link to="/events" onClick={onClose}>
          All events
        </Link>
        <Button variant="default" size="xs" disabled={!newest || !unseen} onClick={() => newest && seen.mutate(newest.id)}>
          Mark all as seen
        </Button>
      </div>
      <div className={css.flush}>
        {ordered.length === 0 && <p className="quiet">Nothing has happened yet.</p>}
        <EventList events={ordered} onLeave={onClose} />
      </div>
    </Drawer>
  );
}
