"""The few facts about the system itself: its clock, its schema, its sandbox settings."""

from __future__ import annotations

from typing import Any

from crofter.db.query import Query, query
from crofter.db.session import Session
from crofter.db.sql import Column, Json, Text, bindparam, select, text
from crofter.db.tables import table

meta = table("meta", Column("name", Text, primary_key=True), Column("value", Json, nullable=False))

_VALUE = query(select(meta.c.value).where(meta.c.name == bindparam("name")))


def get(db: Session, name: str, default: Any = None) -> Any:
    value = db.value(_VALUE, name=name)
    return default if value is None else value


_PUT: Query[Any] = query(
    text(
        "INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    ).bindparams(bindparam("value", type_=Json()))
)


def put(db: Session, name: str, value: Any) -> None:
    db.run_later(_PUT, name=name, value=value)
