"""Support: tickets, replies and attachments."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from msgspec.structs import force_setattr

from crofter.context import Context
from crofter.edge.endpoint import Lookup, endpoint
from crofter.edge.listing import Listing
from crofter.edge.uploads import file_named, harmless
from crofter.resources.support import files, rules, store
from crofter.resources.support.shapes import ReplyCreate, ReplyView, TicketCreate, TicketView
from crofter.results import Pieces, Reply, Upload
from crofter.shapes import Page

TheTicket = Annotated[store.Ticket, Lookup(store.one, "ticket_id")]
TheFile = Annotated[store.File, Lookup(store.file, "ticket_id", "filename")]
SIZES = (25, 100)


class TicketFile(Upload, frozen=True):
    """A form with one file in its part ``file``."""

    heard_out = True

    filename: str = ""
    data: bytes = b""

    def __post_init__(self) -> None:
        files.check_size(self.content)
        part = file_named(self.content_type, self.content, files.FIELD)
        filename = files.checked(harmless(part.filename or ""), part.content)
        force_setattr(self, "filename", filename)
        force_setattr(self, "data", part.content)


@endpoint("GET /v4/support/tickets", scope="account:read_only", grant="any", page_sizes=SIZES, slow=True)
def list_tickets(ctx: Context, listing: Listing) -> Page[TicketView]:
    """List the support tickets, open ones first."""
    collection = store.VISIBLE if ctx.actor.restricted else store.ALL
    return listing.of(ctx, collection, lambda rows: rules.views(ctx, rows), **store.scope(ctx))


@endpoint(
    "POST /v4/support/tickets", scope="account:read_write", grant="any", rate="tickets", events=("ticket_create",)
)
def create_ticket(ctx: Context, body: TicketCreate) -> TicketView:
    """Open a support ticket."""
    return rules.create(ctx, body)


@endpoint("GET /v4/support/tickets/{ticket_id}", scope="account:read_only", grant="any")
def view_ticket(ctx: Context, ticket: TheTicket) -> TicketView:
    """View a support ticket."""
    return rules.view(ctx, ticket)


@endpoint(
    "POST /v4/support/tickets/{ticket_id}/attachments",
    scope="account:read_write",
    grant="any",
    accepts=("multipart/form-data",),
    max_body=files.LARGEST + files.FRAME,
    events=("ticket_attachment_upload",),
)
def create_ticket_attachment(ctx: Context, ticket: TheTicket, upload: TicketFile) -> None:
    """Attach a file: gif, jpg, jpeg, pjpg, pjpeg, tif, tiff, png, pdf or txt, of at most 5 MB."""
    rules.attach(ctx, ticket, upload.filename, upload.data)


@endpoint("GET /v4/support/tickets/{ticket_id}/attachments/{filename}", scope="account:read_only", grant="any")
def view_ticket_attachment(ctx: Context, file: TheFile) -> Reply:
    """Download an attached file by its name."""
    pieces = Pieces(file.size, lambda ctx, start: store.file_piece(ctx, file.id, start))
    return Reply(pieces, "application/octet-stream", download(file.filename))


@endpoint(
    "POST /v4/support/tickets/{ticket_id}/close", scope="account:read_write", grant="any", events=("ticket_update",)
)
def close_ticket(ctx: Context, ticket: TheTicket) -> None:
    """Close a support ticket that the account has opened."""
    rules.close(ctx, ticket)


@endpoint("GET /v4/support/tickets/{ticket_id}/replies", scope="account:read_only", grant="any", page_sizes=SIZES)
def list_ticket_replies(ctx: Context, ticket: TheTicket, listing: Listing) -> Page[ReplyView]:
    """List the replies to a ticket, the oldest first."""
    return listing.of(ctx, store.REPLIES, rules.reply_views, ticket_id=ticket.id)


@endpoint(
    "POST /v4/support/tickets/{ticket_id}/replies", scope="account:read_write", grant="any", events=("ticket_update",)
)
def create_ticket_reply(ctx: Context, ticket: TheTicket, body: ReplyCreate) -> ReplyView:
    """Reply to a ticket."""
    return rules.reply(ctx, ticket, body)


def download(filename: str) -> tuple[tuple[str, str], ...]:
    """The headers that make a file something to be saved, and never something to be shown or run."""
    plain = "".join(letter if letter.isascii() and letter not in '"\\' else "_" for letter in filename)
    return (
        ("content-disposition", f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-download-options", "noopen"),
    )
