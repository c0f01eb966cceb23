"""Rules of tags and tagged objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from urllib.parse import quote

from crofter.context import Context
from crofter.events import record
from crofter.kinds import Entity
from crofter.resources.tags import store
from crofter.resources.tags.shapes import TagCreate, TaggedObject, TagView
from crofter.resources.tags.store import Tag, Tagged

TAGGABLE = {"computes": "compute", "domains": "domain", "nodebalancers": "nodebalancer", "volumes": "volume"}
"""The fields of a tag's body, and the kind of object that each lists."""


def create(ctx: Context, body: TagCreate) -> TagView:
    for field, kind in TAGGABLE.items():
        ctx.runtime.kinds.require(ctx, kind, getattr(body, field), "read_write", field=field)
    tag = _made(ctx, body.label)
    store.attach(
        ctx, tag.id, ((kind, object_id) for field, kind in TAGGABLE.items() for object_id in getattr(body, field))
    )
    return TagView(tag.label)


def put_on(ctx: Context, kind: str, object_id: int, labels: Sequence[str]) -> None:
    """Make these the tags of an object; tags that are not there yet come into being."""
    store.detach(ctx, kind, object_id)
    for label in dict.fromkeys(labels):
        tag = store.find(ctx, label) or _made(ctx, label)
        store.attach(ctx, tag.id, [(kind, object_id)])


def delete(ctx: Context, tag: Tag) -> None:
    store.delete(ctx, tag.id)
    record(ctx, "tag_delete", _entity(tag.label))


def _made(ctx: Context, label: str) -> Tag:
    tag = store.insert(ctx, label)
    record(ctx, "tag_create", _entity(label))
    return tag


def objects(ctx: Context, rows: list[Tagged]) -> list[TaggedObject]:
    """Carriers of a tag, each as its own endpoint shows it."""
    shown: list[TaggedObject] = []
    for kind, group in groupby(rows, key=lambda row: row.kind):
        ids = [row.object_id for row in group]
        known = ctx.runtime.kinds.get(kind)
        views = known.views(ctx, ids) if known else {}
        shown += [TaggedObject(kind, views[object_id]) for object_id in ids if object_id in views]
    return shown


def _entity(label: str) -> Entity:
    return Entity("tag", label, label, "/v4/tags/" + quote(label, safe=""))
