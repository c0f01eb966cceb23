"""Commands of ``crofter admin`` on accounts, users and tokens."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from crofter import clock, passwords
from crofter.cli.operators import Arguments, Rows, on_record, plain
from crofter.clock import DAY
from crofter.context import Context, Runtime
from crofter.db import Row, query
from crofter.db.sql import bindparam, func, or_, select
from crofter.errors import Invalid, NotFound
from crofter.events import record
from crofter.kinds import Entity
from crofter.login import credentials, store
from crofter.login.store import Person
from crofter.resources.account.store import account
from crofter.resources.users import invitations
from crofter.resources.users import rules as users
from crofter.resources.users.shapes import UserCreate
from crofter.resources.users.store import token, user
from crofter.scopes import parse

# ---- accounts and users ---------------------------------------------------------------------------------------------


def _create_account(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        opened = users.open_account(runtime, db, username=arguments["username"], email=arguments["email"])
        person = db.one(store.BY_USERNAME, username=opened.username)
        ctx = _context(runtime, db, person.account_id)
        invitations.invite(ctx, person)
        on_record(ctx, arguments, person.account_id, "/v4/account", ("username", "email"))
    return [{"euuid": opened.euuid, "username": opened.username, "token": opened.token}]


class _Account(Row):
    euuid: str
    company: str
    first_name: str
    last_name: str
    username: str | None
    email: str
    active_since: str
    closed: bool
    suspended: bool


# The first of its users who may do everything: whom one would write to.
_other = user.alias("other")
_FIRST = (
    select(func.min(_other.c.id))
    .where(_other.c.account_id == account.c.id, _other.c.restricted.is_(False))
    .correlate(account)
)
_ACCOUNTS = query(
    select(*((user if name == "username" else account).c[name] for name in _Account.__struct_fields__))
    .join_from(account, user, user.c.id == _FIRST.scalar_subquery(), isouter=True)
    .order_by(account.c.id),
    _Account,
)


def _list_accounts(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        return [_named(row) for row in db.all(_ACCOUNTS)]


def _named(listed: _Account) -> dict[str, Any]:
    """With one name: the company's, or the person's. Customers write it, so it is shown as plain text."""
    row = msgspec.structs.asdict(listed)
    person = " ".join(part for part in (row.pop("first_name"), row.pop("last_name")) if part)
    name = plain(row.pop("company") or person)
    return {"euuid": row.pop("euuid"), "name": name, **row}


def _create_user(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        beside = _person(db, arguments["beside"])
        ctx = _context(runtime, db, beside.account_id)
        body = UserCreate(username=arguments["username"], email=arguments["email"], restricted=arguments["restricted"])
        users.check_username(body.username)
        made = users.create(ctx, body)
        path = f"/v4/account/users/{made.username}"
        on_record(ctx, arguments, beside.account_id, path, ("username", "email", "restricted"))
    return [{"username": made.username, "email": made.email, "restricted": made.restricted}]


class _User(Row):
    username: str
    email: str
    restricted: bool
    tfa_enabled: bool
    euuid: str


_USERS = query(
    select(user.c.username, user.c.email, user.c.restricted, user.c.tfa_enabled, account.c.euuid)
    .join_from(user, account, account.c.id == user.c.account_id)
    .order_by(user.c.id),
    _User,
)


def _list_users(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        return [msgspec.structs.asdict(row) for row in db.all(_USERS)]


def _set_password(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        person = _person(db, arguments["username"])
    password = passwords.readable(runtime.rng) if arguments["generate"] else _typed_password()
    problem = passwords.weakness(password, person.username, person.email)
    if problem is not None:
        raise Invalid(problem, field="password")
    hashed = passwords.of(runtime).hash(password)
    with runtime.database.write() as db:
        ctx = _context(runtime, db, person.account_id)
        credentials.replace(ctx, person, hashed)
        on_record(ctx, arguments, person.account_id, f"/v4/account/users/{person.username}", ("password",))
    return [{"username": person.username, **({"password": password} if arguments["generate"] else {})}]


def _typed_password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass.getpass("new password: ")
    if password != getpass.getpass("the same again: "):
        raise ValueError("the two passwords are not the same")
    return password


# ---- tokens ---------------------------------------------------------------------------------------------------------


def _create_token(runtime: Runtime, arguments: Arguments) -> Rows:
    try:
        scopes = " ".join(parse(arguments["scopes"]))
    except ValueError as strange:
        raise ValueError(f"{strange} is not a scope") from None
    with runtime.database.write() as db:
        person = _person(db, arguments["username"])
        ctx = _context(runtime, db, person.account_id)
        expiry = clock.text(ctx.now + arguments["days"] * DAY) if arguments["days"] else None
        token_id, plain = users.make_token(
            runtime, db, person.account_id, person.id, label=arguments["label"], scopes=scopes, expiry=expiry
        )
        record(ctx, "token_create", Entity("token", token_id, arguments["label"], f"/v4/profile/tokens/{token_id}"))
        path = f"/v4/profile/tokens/{token_id}"
        on_record(ctx, arguments, person.account_id, path, ("scopes", "label", "expiry"))
    return [{"id": token_id, "username": person.username, "scopes": scopes, "token": plain}]


class _Token(Row):
    id: int
    username: str
    label: str
    shown: str
    scopes: str
    created: str
    expiry: str | None


_TOKENS = query(
    select(token.c.id, user.c.username, token.c.label, token.c.shown, token.c.scopes, token.c.created, token.c.expiry)
    .join_from(token, user, user.c.id == token.c.user_id)
    .where(or_(bindparam("everybody"), user.c.username == bindparam("username")))
    .order_by(token.c.id),
    _Token,
)
_TOKEN = query(select(token.c.account_id, token.c.label).where(token.c.id == bindparam("id")), lambda *values: values)


def _list_tokens(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        tokens = db.all(_TOKENS, everybody=arguments["user"] is None, username=arguments["user"] or "")
        return [msgspec.structs.asdict(token) for token in tokens]


def _revoke_token(runtime: Runtime, arguments: Arguments) -> Rows:
    with runtime.database.write() as db:
        account_id, label = db.one(_TOKEN, id=arguments["id"])
        ctx = _context(runtime, db, account_id)
        db.delete(token, id=arguments["id"])
        record(ctx, "token_delete", Entity("token", arguments["id"], label, f"/v4/profile/tokens/{arguments['id']}"))
        on_record(ctx, arguments, account_id, f"/v4/profile/tokens/{arguments['id']}")
    return [{"revoked": arguments["id"]}]


def _person(db: Any, username: str) -> Person:
    person: Person | None = db.maybe(store.FOR_STAFF, username=username)
    if person is None:
        raise NotFound(f"there is no user {username}")
    return person


def _context(runtime: Runtime, db: Any, account_id: int) -> Context:
    """Return a context in which the system acts on the account."""
    db.lock_account(account_id)
    return Context.of_system(runtime, db, account_id)


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "accounts create": _create_account,
    "users create": _create_user,
    "users set-password": _set_password,
    "tokens create": _create_token,
    "tokens revoke": _revoke_token,
}
LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "accounts list": _list_accounts,
    "users list": _list_users,
    "tokens list": _list_tokens,
}
