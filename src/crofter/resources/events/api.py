"""Events: list, view, wait, mark."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crofter.context import Context
from crofter.edge.endpoint import Header, Lookup, NoEvents, endpoint
from crofter.edge.listing import Listing
from crofter.resources.events import rules, store
from crofter.resources.events.shapes import EventView
from crofter.results import Stream
from crofter.shapes import Page

TheEvent = Annotated[store.Event, Lookup(store.one, "event_id")]
After = Annotated[
    Annotated[int, Meta(ge=0, le=10**18 - 1)] | None, Meta(description="Only events with a greater id, oldest first.")
]
Wait = Annotated[Annotated[int, Meta(ge=0, le=60)] | None, Meta(description="Seconds to wait while the list is empty.")]
LastEventId = Annotated[
    Annotated[int, Meta(ge=0, le=10**18 - 1)] | None,
    Header("last-event-id"),
    Meta(description="The last event that was received."),
]


@endpoint("GET /v4/account/events", scope="events:read_only", grant="any", waits=True)
def list_events(ctx: Context, listing: Listing, after: After = None, wait: Wait = None) -> Page[EventView]:
    """List what happened on the account in the last 90 days, newest first."""
    collection = store.collection(ctx, newest_first=after is None)
    return listing.of(ctx, collection, lambda rows: rules.views(ctx, rows), **store.window(ctx, after or 0))


@endpoint("GET /v4/account/events/stream", scope="events:read_only", grant="any")
def stream_events(ctx: Context, last_event_id: LastEventId = None, after: After = None) -> Stream:
    """Follow events as Server-Sent Events; each new one once, in order, and changes of those that are under way."""
    return rules.stream(ctx, last_event_id if last_event_id is not None else after)


@endpoint("GET /v4/account/events/{event_id}", scope="events:read_only", grant="any")
def view_event(ctx: Context, event: TheEvent) -> EventView:
    """View an event."""
    return rules.views(ctx, [event])[0]


@endpoint(
    "POST /v4/account/events/{event_id}/read",
    scope="events:read_only",
    grant="any",
    events=NoEvents("reading an event is no event"),
)
def read_event(ctx: Context, event: TheEvent) -> None:
    """Mark an event as read."""
    store.mark_read(ctx, event.id)


@endpoint(
    "POST /v4/account/events/{event_id}/seen",
    scope="events:read_only",
    grant="any",
    events=NoEvents("reading events is no event"),
)
def see_events(ctx: Context, event: TheEvent) -> None:
    """Mark all events up to and including this one as seen."""
    store.mark_seen(ctx, event.id)
