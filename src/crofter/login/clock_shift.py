"""Shift of session times when a sandbox's clock moves: skipped time is not idle time."""

from __future__ import annotations

from typing import Any

from crofter import clock
from crofter.db import Query, Row, Session, query
from crofter.db.sql import Table, bindparam, select
from crofter.login.store import refresh, session
from crofter.resources.oauth.store import authorization
from crofter.resources.users.store import token


class _Authorization(Row):
    id: int
    expiry: str
    session_id: int
    created: str
    last_seen: str


class _IssuedToken(Row):
    id: int
    expiry: str


_AUTHORIZATIONS = query(
    select(
        authorization.c.id,
        authorization.c.expiry,
        authorization.c.session_id,
        session.c.created,
        session.c.last_seen,
    ).join_from(authorization, session, session.c.id == authorization.c.session_id),
    _Authorization,
)


def _issued_tokens(source: Table) -> Query[_IssuedToken]:
    statement = select(source.c.id, source.c.expiry)
    return query(statement.where(source.c.authorization_id == bindparam("authorization_id")), _IssuedToken)


_ISSUED_TOKENS = ((token, _issued_tokens(token)), (refresh, _issued_tokens(refresh)))


def shift_sessions(db: Session, milliseconds: int) -> None:
    """Let every session of the console, and what came from it, end so much later."""

    def later(moment: str) -> str:
        return clock.text(clock.parse(moment) + milliseconds)

    for granted in db.all(_AUTHORIZATIONS):
        seen: dict[str, Any] = {"created": later(granted.created), "last_seen": later(granted.last_seen)}
        db.update(session, {"id": granted.session_id}, **seen)
        db.update(authorization, {"id": granted.id}, expiry=later(granted.expiry))
        for source, statement in _ISSUED_TOKENS:
            for issued in db.all(statement, authorization_id=granted.id):
                db.update(source, {"id": issued.id}, expiry=later(issued.expiry))
