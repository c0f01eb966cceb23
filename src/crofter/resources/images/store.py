"""Images: the server's own, which the catalogue file has, and those of accounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from crofter.catalogue import Offered
from crofter.context import Context
from crofter.db import Flag, Id, Moment, Query, among, identity, query, table
from crofter.db.collections import Collection
from crofter.db.sql import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Select,
    Text,
    and_,
    bindparam,
    func,
    or_,
    select,
)
from crofter.errors import Forbidden, NotFound
from crofter.kinds import Entity
from crofter.resources.images.shapes import ImageView, Status
from crofter.resources.users.store import is_granted

KIND = "image"
STATUSES: tuple[str, ...] = get_args(Status)
PRIVATE = "private/"

image = table(
    "image",
    identity(),
    # An image of an account is called by its number; one of the server has a name, and no account.
    Column("account_id", Id, ForeignKey("account.id", ondelete="CASCADE")),
    Column("name", Text, unique=True),
    Column("position", Integer, unique=True),
    Column("label", Text, nullable=False),
    Column("description", Text),
    Column("size", Integer, nullable=False),
    Column("filesystem", Text, nullable=False, server_default="ext4"),
    Column("vendor", Text),
    Column("type", Text, nullable=False, server_default="manual"),
    Column("status", Text, nullable=False, server_default="available"),
    Column("deprecated", Flag, nullable=False),
    Column("created", Moment, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("updated", Moment, nullable=False),
    Column("eol", Moment),
    Column("expiry", Moment),
    # Private images: the host that stores it, and the upload of its file.
    Column("host", Id),
    Column("region", Text),
    Column("event_id", Id),
    Column("upload_digest", LargeBinary, unique=True),
    Index("ix_image_account_id", "account_id", "id"),
)


class Image(Offered):
    id: int
    account_id: int | None
    name: str | None
    label: str
    description: str | None
    size: int
    filesystem: str
    vendor: str | None
    type: str
    status: str
    deprecated: bool
    created: str
    created_by: str
    updated: str
    eol: str | None
    expiry: str | None
    host: int | None
    region: str | None
    event_id: int | None
    """Event of the upload, written at its request."""

    @property
    def slug(self) -> str:
        return self.name or f"{PRIVATE}{self.id}"

    @property
    def is_public(self) -> bool:
        return self.account_id is None

    @property
    def offered(self) -> bool:
        return self.account_id is not None or self.position is not None

    def view(self) -> ImageView:
        return ImageView(
            created=self.created,
            created_by=self.created_by,
            deprecated=self.deprecated,
            description=self.description,
            eol=self.eol,
            expiry=self.expiry,
            id=self.slug,
            is_public=self.is_public,
            label=self.label,
            size=self.size,
            status=self.status,  # type: ignore[arg-type]
            type=self.type,  # type: ignore[arg-type]
            updated=self.updated,
            vendor=self.vendor,
        )


_SHOWN = select(*(image.c[name] for name in Image.__struct_fields__))
_PUBLIC = image.c.position.is_not(None)
_OWN = image.c.account_id == bindparam("account_id")
_GRANTED = is_granted(KIND, image.c.id)


def _collection(statement: Select[Any]) -> Collection[Image]:
    is_public: ColumnElement[bool] = image.c.account_id.is_(None)
    columns = {name: image.c[name] for name in ("created", "deprecated", "label", "size", "type", "updated", "vendor")}
    return Collection(
        ImageView,
        statement,
        Image,
        key=image.c.id,
        columns={**columns, "is_public": is_public},
        # Own images newest first, then the server's in the alphabet's order, which their places follow.
        order=(is_public.asc(), image.c.position.asc(), image.c.id.desc()),
    )


PUBLIC = _collection(_SHOWN.where(_PUBLIC))
ALL = _collection(_SHOWN.where(or_(_PUBLIC, _OWN)))
GRANTED = _collection(_SHOWN.where(or_(_PUBLIC, and_(_OWN, _GRANTED))))

_BY_NAME: Query[Image] = query(_SHOWN.where(image.c.name == bindparam("name")), Image)
_THESE: Query[Image] = query(_SHOWN.where(_OWN, among(image.c.id, "ids")), Image)
_UNSCOPED: Query[Image] = query(_SHOWN.where(image.c.id == bindparam("image_id")), Image)
_BY_UPLOAD: Query[Image] = query(_SHOWN.where(image.c.upload_digest == bindparam("digest")), Image)
_COUNT = query(select(func.count()).where(_OWN))
_BY_ID: Query[Image] = query(_SHOWN.where(_OWN, image.c.id == bindparam("image_id")), Image)


def find(ctx: Context, slug: str) -> Image | None:
    """The image, if it is the server's, offered still or not, or of the caller's account."""
    if not slug.startswith(PRIVATE):
        return ctx.db.maybe(_BY_NAME, name=slug)
    number = slug.removeprefix(PRIVATE)
    if ctx.caller is None or not (number.isascii() and number.isdigit() and len(number) < 19):
        return None
    return ctx.db.maybe(_BY_ID, account_id=ctx.account_id, image_id=int(number))


def offered(ctx: Context, slug: str | None) -> Image | None:
    """The image that something new is to be made from, if there is one of that name still."""
    named = find(ctx, slug) if slug else None
    return named if named is not None and named.offered else None


def one(ctx: Context, image_id: str) -> Image:
    named = offered(ctx, image_id)
    if named is None:
        raise NotFound
    return named


def own(ctx: Context, image_id: str) -> Image:
    """Return an image that the account may change; public images are refused."""
    named = one(ctx, image_id)
    if named.is_public:
        raise Forbidden
    return named


def find_unscoped(ctx: Context, image_id: int) -> Image | None:
    """Return the image of any account, for operations."""
    return ctx.db.maybe(_UNSCOPED, image_id=image_id)


def by_upload(ctx: Context, digest: bytes) -> Image | None:
    """Return the image of an upload address, of any account."""
    return ctx.db.maybe(_BY_UPLOAD, digest=digest)


def count(ctx: Context) -> int:
    """How many images the account has."""
    return int(ctx.db.value(_COUNT, account_id=ctx.account_id))


def insert(ctx: Context, **values: Any) -> Image:
    """A new image of the account."""
    made = {"created": ctx.moment, "created_by": ctx.actor.username, "updated": ctx.moment, "deprecated": False}
    number = ctx.db.insert(image, account_id=ctx.account_id, **made, **values)
    return ctx.db.one(_BY_ID, account_id=ctx.account_id, image_id=number)


def change(ctx: Context, image_id: int, **values: Any) -> bool:
    """Update the image. Return False if it no longer exists."""
    return bool(ctx.db.update(image, {"id": image_id}, **values))


def show(ctx: Context, image_id: int, status: str) -> None:
    change(ctx, image_id, status=status, updated=ctx.moment)


def entity(row: Image) -> Entity:
    return Entity(KIND, row.slug, row.label, f"/v4/images/{row.slug}")


def these(ctx: Context, ids: Sequence[int]) -> list[Image]:
    """Return the given images of the account."""
    return ctx.db.all(_THESE, account_id=ctx.account_id, ids=list(ids))


def views(images: list[Image]) -> list[ImageView]:
    return [row.view() for row in images]
