"""Storage of the login service: sessions, codes, refresh tokens, failed attempts."""

from __future__ import annotations

from typing import Any

from crofter.db import Flag, Id, Moment, Query, Row, Time, identity, query, table
from crofter.db.sql import (
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    Table,
    Text,
    bindparam,
    delete,
    func,
    select,
    text,
    update,
)
from crofter.resources.account.store import account
from crofter.resources.logins.store import device
from crofter.resources.oauth.store import authorization, client
from crofter.resources.users.store import link, token, user

session = table(
    "login_session",
    identity(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("created", Moment, nullable=False),
    Column("last_seen", Moment, nullable=False),
)

code = table(
    "authorization_code",
    identity(),
    Column("authorization_id", Id, ForeignKey("app_authorization.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("redirect_uri", Text, nullable=False),  # empty if the authorization request named none
    Column("challenge", Text),
    Column("expiry", Moment, nullable=False),
    Column("used", Flag, nullable=False),
)

refresh = table(
    "refresh_token",
    identity(),
    Column("authorization_id", Id, ForeignKey("app_authorization.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("expiry", Moment, nullable=False),
    Column("used", Flag, nullable=False),
)

# Subjects are hashed: people type passwords into the wrong field.
attempt = table(
    "login_attempt",
    Column("subject", LargeBinary, primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("last", Time, nullable=False),
    Column("until", Time, nullable=False),
    sqlite_without_rowid=True,
)


class Person(Row):
    """A user as the login form needs to know it."""

    id: int
    account_id: int
    username: str
    email: str
    restricted: bool
    password: str | None
    tfa_enabled: bool


_PERSON = select(*(user.c[name] for name in Person.__struct_fields__)).join_from(
    user, account, account.c.id == user.c.account_id
)
_OPEN = account.c.closed.is_(False) & account.c.suspended.is_(False)
BY_USERNAME = query(_PERSON.where(user.c.username == bindparam("username"), _OPEN), Person)
FOR_STAFF = query(_PERSON.where(user.c.username == bindparam("username"), account.c.closed.is_(False)), Person)
"""Users by name, for operators, who also work on suspended accounts."""
MOST_WITH_AN_ADDRESS = 5
"""Maximum number of users mailed for a request by e-mail address: a person may be a user of several accounts."""
BY_EMAIL = query(
    _PERSON.where(func.lower(user.c.email) == bindparam("email"), _OPEN)
    .order_by(user.c.id)
    .limit(MOST_WITH_AN_ADDRESS),
    Person,
)
BY_ID = query(_PERSON.where(user.c.id == bindparam("user_id"), _OPEN), Person)


class SignedIn(Row):
    """A session that is alive."""

    id: int
    user_id: int
    account_id: int
    username: str
    restricted: bool
    last_seen: str


SESSION = query(
    select(session.c.id, session.c.user_id, user.c.account_id, user.c.username, user.c.restricted, session.c.last_seen)
    .join_from(session, user, user.c.id == session.c.user_id)
    .join(account, account.c.id == user.c.account_id)
    .where(
        session.c.digest == bindparam("digest"),
        session.c.last_seen > bindparam("idle"),
        session.c.created > bindparam("absolute"),
        _OPEN,
    ),
    SignedIn,
)

DEVICE = query(
    select(device.c.id).where(
        device.c.digest == bindparam("digest"),
        device.c.user_id == bindparam("user_id"),
        device.c.expiry > bindparam("moment"),
    )
)


class Client(Row):
    """An OAuth client as the login service needs to know it."""

    id: int
    public_id: str
    label: str
    redirect_uri: str
    public: bool
    secret_digest: bytes
    status: str
    pictured: bool


CLIENT = query(
    select(
        client.c.id,
        client.c.public_id,
        client.c.label,
        client.c.redirect_uri,
        client.c.public,
        client.c.secret_digest,
        client.c.status,
        client.c.thumbnail.is_not(None).label("pictured"),
    )
    .join_from(client, account, account.c.id == client.c.account_id, isouter=True)
    .where(client.c.public_id == bindparam("public_id"), account.c.closed.is_not(True)),
    Client,
)


class Presented(Row):
    """A stored authorization code."""

    id: int
    authorization_id: int
    redirect_uri: str
    challenge: str | None
    expiry: str
    used: bool


class Renewal(Row):
    """A stored refresh token."""

    id: int
    authorization_id: int
    expiry: str
    used: bool


class TokenFamily(Row):
    """A consent: the family that all its codes and tokens belong to."""

    id: int
    account_id: int
    user_id: int
    client_id: int
    scopes: str
    session_id: int | None
    username: str


CODE = query(
    select(*(code.c[name] for name in Presented.__struct_fields__)).where(code.c.digest == bindparam("digest")),
    Presented,
)
REFRESH = query(
    select(*(refresh.c[name] for name in Renewal.__struct_fields__)).where(refresh.c.digest == bindparam("digest")),
    Renewal,
)
FAMILY = query(
    select(
        authorization.c.id,
        authorization.c.account_id,
        authorization.c.user_id,
        authorization.c.client_id,
        authorization.c.scopes,
        authorization.c.session_id,
        user.c.username,
    )
    .join_from(authorization, account, account.c.id == authorization.c.account_id)
    .join(user, user.c.id == authorization.c.user_id)
    .where(authorization.c.id == bindparam("id"), _OPEN),
    TokenFamily,
)
FAMILY_OF_SESSION = query(select(authorization.c.id).where(authorization.c.session_id == bindparam("session_id")))
LIVE_SESSION = query(
    select(session.c.id).where(
        session.c.id == bindparam("id"),
        session.c.last_seen > bindparam("idle"),
        session.c.created > bindparam("absolute"),
    )
)
FORGET_TOKENS = query(
    delete(token).where(token.c.authorization_id == bindparam("family_id"), token.c.expiry <= bindparam("moment"))
)
# Lookup for revocation: by an access token or by a refresh token of the client.
BY_ACCESS = query(
    select(token.c.authorization_id)
    .join_from(token, authorization, authorization.c.id == token.c.authorization_id)
    .where(token.c.digest == bindparam("digest"), authorization.c.client_id == bindparam("client_id"))
)
BY_REFRESH = query(
    select(refresh.c.authorization_id)
    .join_from(refresh, authorization, authorization.c.id == refresh.c.authorization_id)
    .where(refresh.c.digest == bindparam("digest"), authorization.c.client_id == bindparam("client_id"))
)


class Tried(Row):
    failures: int
    until: int


# Counted before the password is looked at, so that many guesses at once are as many as one after the other.
TRY = query(
    text(
        "INSERT INTO login_attempt (subject, failures, last, until) VALUES (:subject, 1, :now, 0)"
        " ON CONFLICT (subject) DO UPDATE SET last = :now, failures ="
        " CASE WHEN login_attempt.last < :since THEN 1 ELSE login_attempt.failures + 1 END"
        " RETURNING failures, until"
    ).columns(failures=Integer, until=Time),
    Tried,
)
TAKE_BACK = query(
    update(attempt)
    .where(attempt.c.subject == bindparam("wanted"), attempt.c.failures > 0)
    .values(failures=attempt.c.failures - 1, until=0)
)
# At a pace, ``until`` is when the next one would be due if each had waited for the one before it.
STEP = query(
    text(
        "INSERT INTO login_attempt (subject, failures, last, until) VALUES"
        # PostgreSQL does not add two values whose types it has to guess.
        " (:subject, 0, :now, CAST(:now AS BIGINT) + :interval)"
        " ON CONFLICT (subject) DO UPDATE SET last = :now, until = :interval +"
        " CASE WHEN login_attempt.until < :now THEN :now ELSE login_attempt.until END"
        " RETURNING until"
    ).columns(until=Time)
)
STEP_BACK = query(
    update(attempt)
    .where(attempt.c.subject == bindparam("wanted"))
    .values(until=attempt.c.until - bindparam("interval"))
)


def _forget(password_reset: Table, column: str) -> Query[Any]:
    return query(delete(password_reset).where(password_reset.c[column] < bindparam("before")))


# A used code is kept as long as its token family: a second use means theft.
FORGET_MOMENTS = tuple(_forget(expiring, "expiry") for expiring in (refresh, link, device, authorization))
FORGET_SESSIONS = _forget(session, "last_seen")
FORGET_ATTEMPTS = _forget(attempt, "last")
