"""Moving the clock of a sandbox does not sign the console out: what is skipped is no time that somebody was idle."""

from __future__ import annotations

from typing import Any

from crofter import clock
from crofter.db import Query, Row, Session, query
from crofter.db.sql import Table, bindparam, select
from crofter.login.store import refresh, session
from crofter.resources.oauth.store import authorization
from crofter.resources.users.store import token


class _Family(Row):
    id: int
    expiry: str
    session_id: int
    created: str
    last_seen: str


class _Lent(Row):
    id: int
    expiry: str


_FAMILIES = query(
    select(
        authorization.c.id,
        authorization.c.expiry,
        authorization.c.session_id,
        session.c.created,
        session.c.last_seen,
    ).join_from(authorization, session, session.c.id == authorization.c.session_id),
    _Family,
)


def _lent(source: Table) -> Query[_Lent]:
    statement = select(source.c.id, source.c.expiry)
    return query(statement.where(source.c.authorization_id == bindparam("family_id")), _Lent)


_LENT = ((token, _lent(token)), (refresh, _lent(refresh)))


def carry(db: Session, milliseconds: int) -> None:
    """Let every session of the console, and what came from it, end so much later."""

    def later(moment: str) -> str:
        return clock.text(clock.parse(moment) + milliseconds)

    for family in db.all(_FAMILIES):
        seen: dict[str, Any] = {"created": later(family.created), "last_seen": later(family.last_seen)}
        db.update(session, {"id": family.session_id}, **seen)
        db.update(authorization, {"id": family.id}, expiry=later(family.expiry))
        for source, statement in _LENT:
            for lent in db.all(statement, family_id=family.id):
                db.update(source, {"id": lent.id}, expiry=later(lent.expiry))
