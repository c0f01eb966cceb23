"""What ``crofter admin`` does, on the database itself: for whoever runs the house."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from sqlalchemy import bindparam, or_, select

from crofter import audit, clock, keyring, mail, passwords, rotation
from crofter.assembly import MASTERS, build_world, found
from crofter.cli import staff
from crofter.clock import DAY
from crofter.config import Settings
from crofter.context import Actor, Context, World
from crofter.db import Row, query
from crofter.db.schema import SchemaError
from crofter.dice import Dice
from crofter.drivers.mail import Outbox
from crofter.errors import Invalid, NotFound, Problem
from crofter.journal import record
from crofter.kinds import Entity
from crofter.login import credentials, invitations, store
from crofter.login.store import Person
from crofter.resources.account.store import account
from crofter.resources.users import rules as users
from crofter.resources.users.shapes import UserCreate
from crofter.resources.users.store import token, user
from crofter.scopes import parse

EVERYTHING = frozenset({"*"})
Asked = dict[str, Any]


def run(settings: Settings, asked: Asked) -> int:
    """Do one command; the exit code."""
    command = f"{asked['group']} {asked['verb']}".strip()
    try:
        if command == "rotate-key":
            return _rotate_key(settings)
        world = staff.opened(settings) if command in staff.COMMANDS else _opened(settings)
        try:
            if command in staff.COMMANDS:
                return _show(asked, staff.COMMANDS[command](world, asked))
            return _COMMANDS[command](world, asked)
        finally:
            world.database.close()
    except (Problem, SchemaError, ValueError) as error:
        print(f"crofter: {error}", file=sys.stderr)
        return 1


def _opened(settings: Settings) -> World:
    world = build_world(settings)
    first = found(world)
    if first is not None:
        made = f"a new database: user {first.username}, password {first.password}, token {first.token}"
        print(f"crofter: {made}", file=sys.stderr)
    return world


# ---- accounts and users ---------------------------------------------------------------------------------------------


def _create_account(world: World, asked: Asked) -> int:
    with world.database.write() as db:
        opened = users.open_account(world, db, username=asked["username"], email=asked["email"])
        person = db.one(store.BY_USERNAME, username=opened.username)
        ctx = _context(world, db, person.account_id)
        invitations.invite(ctx, person)
        _audit(ctx, "accounts create")
    return _show(asked, [{"euuid": opened.euuid, "username": opened.username, "token": opened.token}])


class _Account(Row):
    euuid: str
    email: str
    active_since: str
    closed: bool


_ACCOUNTS = query(
    select(*(account.c[name] for name in _Account.__struct_fields__)).order_by(account.c.id),
    _Account,
)


def _list_accounts(world: World, asked: Asked) -> int:
    with world.database.read() as db:
        return _show(asked, [msgspec.structs.asdict(one) for one in db.all(_ACCOUNTS)])


def _create_user(world: World, asked: Asked) -> int:
    with world.database.write() as db:
        beside = _person(db, asked["beside"])
        ctx = _context(world, db, beside.account_id)
        body = UserCreate(username=asked["username"], email=asked["email"], restricted=asked["restricted"])
        users.check_username(body.username)
        made = users.create(ctx, body)
        _audit(ctx, "users create", "username", "email", "restricted")
    return _show(asked, [{"username": made.username, "email": made.email, "restricted": made.restricted}])


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


def _list_users(world: World, asked: Asked) -> int:
    with world.database.read() as db:
        return _show(asked, [msgspec.structs.asdict(one) for one in db.all(_USERS)])


def _set_password(world: World, asked: Asked) -> int:
    with world.database.read() as db:
        person = _person(db, asked["username"])
    password = passwords.readable(world.dice) if asked["generate"] else _typed_password()
    problem = passwords.weakness(password, person.username, person.email)
    if problem is not None:
        raise Invalid(problem, field="password")
    hashed = passwords.of(world).hash(password)
    with world.database.write() as db:
        ctx = _context(world, db, person.account_id)
        credentials.replace(ctx, person, hashed)
        _audit(ctx, "users set-password", "password")
    return _show(asked, [{"username": person.username, **({"password": password} if asked["generate"] else {})}])


def _typed_password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass.getpass("new password: ")
    if password != getpass.getpass("the same again: "):
        raise ValueError("the two passwords are not the same")
    return password


# ---- tokens ---------------------------------------------------------------------------------------------------------


def _create_token(world: World, asked: Asked) -> int:
    try:
        scopes = " ".join(parse(asked["scopes"]))
    except ValueError as strange:
        raise ValueError(f"{strange} is not a scope") from None
    with world.database.write() as db:
        person = _person(db, asked["username"])
        ctx = _context(world, db, person.account_id)
        expiry = clock.text(ctx.now + asked["days"] * DAY) if asked["days"] else None
        token_id, plain = users.make_token(
            world, db, person.account_id, person.id, label=asked["label"], scopes=scopes, expiry=expiry
        )
        record(ctx, "token_create", Entity("token", token_id, asked["label"], f"/v4/profile/tokens/{token_id}"))
        _audit(ctx, "tokens create", "scopes", "label", "expiry")
    return _show(asked, [{"id": token_id, "username": person.username, "scopes": scopes, "token": plain}])


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


def _list_tokens(world: World, asked: Asked) -> int:
    with world.database.read() as db:
        found = db.all(_TOKENS, everybody=asked["user"] is None, username=asked["user"] or "")
        return _show(asked, [msgspec.structs.asdict(one) for one in found])


def _revoke_token(world: World, asked: Asked) -> int:
    with world.database.write() as db:
        account_id, label = db.one(_TOKEN, id=asked["id"])
        ctx = _context(world, db, account_id)
        db.delete(token, id=asked["id"])
        record(ctx, "token_delete", Entity("token", asked["id"], label, f"/v4/profile/tokens/{asked['id']}"))
        _audit(ctx, "tokens revoke", "id")
    return _show(asked, [{"revoked": asked["id"]}])


# ---- the house ------------------------------------------------------------------------------------------------------


def _list_mails(world: World, asked: Asked) -> int:
    mailer = mail.driver(world)
    mails = mailer.mails() if isinstance(mailer, Outbox) else []
    if asked["json"]:
        return _show(asked, mails)
    for one in mails:
        print(f"To: {one['to']}\nSubject: {one['subject']}\nSent: {one['sent']}\n\n{one['text']}")
    return 0


def _verify_audit(world: World, asked: Asked) -> int:
    with world.database.read() as db:
        broken = audit.verify(world.keyring, db)
    if broken:
        _show(asked, [msgspec.structs.asdict(one) for one in broken])
        return 1
    print("[]" if asked["json"] else "the audit log is whole")
    return 0


def _rotate_key(settings: Settings) -> int:
    """With the key in a file: a new one is made, and the old one dropped when nothing needs it any more."""
    folder = settings.folder
    in_file = settings.secret_key is None and folder is not None
    if in_file:
        assert folder is not None
        _opened(settings).database.close()  # nobody else is at it, and the key at hand is the right one
        keyring.add_master(folder / MASTERS, Dice())
    elif not settings.former_secret_keys:
        raise ValueError(
            "put the new key into CROFTER_SECRET_KEY and the old one into CROFTER_FORMER_SECRET_KEYS, then run this"
        )
    world = _opened(settings)
    try:
        done = rotation.rotate(world)
    finally:
        world.database.close()
    for one in done.left:
        print(f"crofter: {one.table}.{one.column} of {one.key} cannot be opened with any key", file=sys.stderr)
    if in_file and not done.left:
        assert folder is not None
        keyring.drop_former_masters(folder / MASTERS)
    print(f"{done.rewrapped} sealed values are under the new key")
    if not in_file and not done.left:
        print("CROFTER_FORMER_SECRET_KEYS can be dropped")
    return 1 if done.left else 0


# ---- what they share ------------------------------------------------------------------------------------------------


def _person(db: Any, username: str) -> Person:
    found: Person | None = db.maybe(store.BY_USERNAME, username=username)
    if found is None:
        raise NotFound(f"there is no user {username}")
    return found


def _context(world: World, db: Any, account_id: int) -> Context:
    """The house itself acts, on somebody's account."""
    db.hold(account_id)
    return Context(world, db, Actor(account_id, 0, "", False, 0, EVERYTHING))


def _audit(ctx: Context, command: str, *fields: str) -> None:
    audit.write(ctx, f"admin {command}", "", list(fields))


def _show(asked: Asked, rows: Sequence[dict[str, Any]]) -> int:
    """A table for people, JSON for programs."""
    if asked["json"]:
        print(msgspec.json.format(msgspec.json.encode(rows)).decode())
    elif rows:
        names = list(rows[0])
        cells = [names] + [[_cell(row[name]) for name in names] for row in rows]
        widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
        for line in cells:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


_COMMANDS: dict[str, Callable[[World, Asked], int]] = {
    "accounts create": _create_account,
    "accounts list": _list_accounts,
    "users create": _create_user,
    "users list": _list_users,
    "users set-password": _set_password,
    "tokens create": _create_token,
    "tokens list": _list_tokens,
    "tokens revoke": _revoke_token,
    "mails list": _list_mails,
    "audit verify": _verify_audit,
}
