"""The second factor of a user, in the user's own row."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select

from crofter.db import Row, Session, query
from crofter.resources.users.store import user


class Factor(Row):
    id: int
    tfa_enabled: bool
    tfa_secret: bytes | None
    tfa_pending: bytes | None
    tfa_expiry: str | None
    tfa_last_step: int | None
    tfa_scratch: bytes | None


_FACTOR = query(
    select(*(user.c[name] for name in Factor.__struct_fields__)).where(user.c.id == bindparam("user_id")), Factor
)


def factor(db: Session, user_id: int) -> Factor:
    return db.one(_FACTOR, user_id=user_id)


def update(db: Session, user_id: int, **values: Any) -> None:
    db.update(user, {"id": user_id}, **values)
