"""Storage of tags and tagged objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from crofter.context import Context
from crofter.db import Duplicate, Id, Row, among, identity, json_list, owned, query, revisions, table
from crofter.db.collections import Collection
from crofter.db.filters import Field
from crofter.db.sql import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    and_,
    bindparam,
    exists,
    literal_column,
    or_,
    select,
    text,
)
from crofter.db.tally import Tally
from crofter.errors import Invalid
from crofter.resources.tags.shapes import TaggedObject, TagView
from crofter.resources.users.store import grant

tag = table(
    "tag",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    UniqueConstraint("label", "account_id"),  # in this order it tempts no search by account alone
    Index("ix_tag_account_id", "account_id", "id"),
    Index("ix_tag_label", "account_id", text("lower(label)")),
)
tagged = table(
    "tagged",
    Column("tag_id", Id, ForeignKey("tag.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("object_id", Id, nullable=False),
    PrimaryKeyConstraint("tag_id", "kind", "object_id"),
    Index("ix_tagged_object", "kind", "object_id"),
    sqlite_without_rowid=True,
)
_TALLY = Tally(tag)


class Tag(Row):
    id: int
    account_id: int
    label: str


class Tagged(Row):
    kind: str
    object_id: int


class LabelOf(Row):
    object_id: int
    label: str


TAGS = Collection(
    TagView,
    select(tag).where(tag.c.account_id == bindparam("account_id")),
    Tag,
    key=tag.c.id,
    columns={},
    tally=_TALLY,
)
_GRANTED = and_(
    grant.c.kind == tagged.c.kind,
    grant.c.object_id == tagged.c.object_id,
    grant.c.user_id == bindparam("user_id"),
    or_(grant.c.level == "read_only", grant.c.level == "read_write"),
)
# From the grants of the user to the tags: with a look at each tag instead, one with many objects would take long.
_SEEN = tag.c.id.in_(select(tagged.c.tag_id).join(grant, _GRANTED))
GRANTED_TAGS = Collection(
    TagView,
    select(tag).where(tag.c.account_id == bindparam("account_id"), _SEEN),
    Tag,
    key=tag.c.id,
    columns={},
)
"""The tags that a restricted user meets on an object. Other labels may name what the user is not to know of."""

# Firewalls carry tags too, but the list of what carries one does not show them.
_CARRIERS = select(tagged.c.kind, tagged.c.object_id).where(
    tagged.c.tag_id == bindparam("tag_id"), tagged.c.kind != "firewall"
)
_ORDER = (tagged.c.kind.asc(), tagged.c.object_id.asc())
CARRIERS = Collection(TaggedObject, _CARRIERS, Tagged, key=tagged.c.object_id, columns={}, order=_ORDER)
GRANTED_CARRIERS = CARRIERS.joined(grant, _GRANTED)

_LABELLED = select(tag).where(tag.c.account_id == bindparam("account_id"), tag.c.label == bindparam("label"))
_BY_LABEL = query(_LABELLED, Tag)
_SEEN_BY_LABEL = query(_LABELLED.where(exists(select(1).where(tagged.c.tag_id == tag.c.id).join(grant, _GRANTED))), Tag)
_SOME = query(
    select(tag.c.id).where(tag.c.account_id == bindparam("account_id")).order_by(tag.c.id).limit(bindparam("most"))
)
_LABELS = query(
    select(tagged.c.object_id, tag.c.label)
    .join(tag, tag.c.id == tagged.c.tag_id)
    .where(tagged.c.kind == bindparam("kind"), among(tagged.c.object_id, "ids"))
    .order_by(tagged.c.object_id, tag.c.label),
    LabelOf,
)


_LABELS_OF = query(
    select(tag.c.label)
    .join(tagged, tagged.c.tag_id == tag.c.id)
    .where(tagged.c.kind == bindparam("kind"), tagged.c.object_id == bindparam("object_id"))
    .order_by(tag.c.label)
)


def by_label(ctx: Context, label: str) -> Tag:
    """The tag, or NotFound; to a restricted user a tag that is on none of their objects is not there."""
    if ctx.actor.restricted:
        return ctx.db.one(_SEEN_BY_LABEL, account_id=ctx.account_id, label=label, user_id=ctx.actor.user_id)
    return ctx.db.one(_BY_LABEL, account_id=ctx.account_id, label=label)


def changed(ctx: Context, label: str) -> Tag:
    """The tag that is to be changed, among all of the account: an unknown one is 404 before the grant is looked at."""
    return ctx.db.one(_BY_LABEL, account_id=ctx.account_id, label=label)


def find(ctx: Context, label: str) -> Tag | None:
    return ctx.db.maybe(_BY_LABEL, account_id=ctx.account_id, label=label)


def insert(ctx: Context, label: str) -> Tag:
    try:
        tag_id = ctx.db.insert(tag, account_id=ctx.account_id, label=label)
    except Duplicate:
        raise Invalid("Label must be unique among your Tags", field="label") from None
    return Tag(tag_id, ctx.account_id, label)


def attach(ctx: Context, tag_id: int, objects: Iterable[tuple[str, int]]) -> None:
    for kind, object_id in dict.fromkeys(objects):
        revisions.change(ctx.db, ctx.account_id)
        ctx.db.insert(tagged, tag_id=tag_id, kind=kind, object_id=object_id)


def detach(ctx: Context, kind: str, object_id: int) -> None:
    """Take every tag off an object."""
    revisions.change(ctx.db, ctx.account_id)
    ctx.db.delete(tagged, kind=kind, object_id=object_id)


def delete(ctx: Context, tag_id: int) -> None:
    revisions.change(ctx.db, ctx.account_id)
    ctx.db.delete(tag, account_id=ctx.account_id, id=tag_id)


def delete_some(ctx: Context, most: int) -> bool:
    """Delete a few tags of the account; whether there were any."""
    ids = ctx.db.column(_SOME, account_id=ctx.account_id, most=most)
    for tag_id in ids:
        delete(ctx, tag_id)
    return bool(ids)


def labels_of(ctx: Context, kind: str, object_id: int) -> list[str]:
    """Return the tags of an object."""
    return ctx.db.column(_LABELS_OF, kind=kind, object_id=object_id)


def labels(ctx: Context, kind: str, ids: Sequence[int]) -> dict[int, list[str]]:
    """The tags of many objects of one kind at once."""
    by_object: dict[int, list[str]] = {}
    for row in ctx.db.all(_LABELS, kind=kind, ids=list(ids)):
        by_object.setdefault(row.object_id, []).append(row.label)
    return by_object


def labels_beside(kind: str, object_id: str) -> json_list:
    """The tags of an object among what is selected of it; ``object_id`` is how the select calls its number."""
    return json_list(
        select(tag.c.label)
        .join(tagged, tagged.c.tag_id == tag.c.id)
        .where(tagged.c.kind == kind, tagged.c.object_id == literal_column(object_id))
        .order_by(tag.c.label)
    )


def field_of(kind: str, object_id: ColumnElement[Any]) -> Field:
    """The tags of an object as a field that a collection of its kind can be filtered on."""

    def carries(condition: ColumnElement[bool]) -> ColumnElement[bool]:
        # From the tag to its objects: there are never more of them than of all objects.
        tags = select(tag.c.id).where(tag.c.account_id == bindparam("account_id"), condition)
        return object_id.in_(select(tagged.c.object_id).where(tagged.c.kind == kind, tagged.c.tag_id.in_(tags)))

    def carries_by_row(condition: ColumnElement[bool]) -> ColumnElement[bool]:
        tags = select(tag.c.id).where(tag.c.account_id == bindparam("account_id"), condition)
        mine = (tagged.c.kind == kind, tagged.c.object_id == object_id, tagged.c.tag_id.in_(tags))
        # The offset keeps PostgreSQL from turning it around: it would begin with all objects that have the tag.
        return exists(select(1).where(*mine).offset(0))

    return Field(tag.c.label, element_of=carries, element_by_row=carries_by_row)
