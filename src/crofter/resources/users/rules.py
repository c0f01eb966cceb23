"""Making people and the tokens that stand for them."""

from __future__ import annotations

import re

from msgspec import Struct

from crofter import clock
from crofter.context import World
from crofter.db import Clash, Session
from crofter.errors import Invalid
from crofter.keyring import SHOWN, new_token
from crofter.passwords import Passwords
from crofter.resources.account.store import account
from crofter.resources.users import store

USERNAME = re.compile(r"^[A-Za-z0-9](?:[_-]?[A-Za-z0-9])+$")


class Opened(Struct, frozen=True):
    """A new account with its first user, and the only sight of the token."""

    euuid: str
    username: str
    token: str


def check_username(username: str) -> None:
    if not 3 <= len(username) <= 32:
        raise Invalid("Length must be 3-32 characters", field="username")
    if not USERNAME.match(username):
        raise Invalid("Must be letters and digits, with single - or _ between them", field="username")


def open_account(
    world: World,
    db: Session,
    *,
    username: str,
    email: str,
    token: str | None = None,
    password: str | None = None,
    managed: bool = False,
    public_ips: int = 1,
) -> Opened:
    """An account with one unrestricted user, and a token that may do everything that user may."""
    check_username(username)
    moment = clock.text(world.clock.now())
    euuid = world.dice.uuid()
    account_id = db.insert(
        account,
        euuid=euuid,
        email=email,
        active_since=moment,
        closed=False,
        managed=managed,
        public_ips=public_ips,
    )
    hashed = Passwords(cheap=world.settings.sandbox).hash(password) if password else None
    try:
        user_id = db.insert(
            store.user,
            account_id=account_id,
            username=username,
            email=email,
            restricted=False,
            password=hashed,
            created=moment,
        )
    except Clash:
        raise Invalid("Username is taken", field="username") from None
    user = store.User(user_id, account_id, username, email, False)
    return Opened(euuid, username, issue_token(world, db, user, label="first token", plain=token))


def issue_token(
    world: World,
    db: Session,
    user: store.User,
    *,
    label: str,
    scopes: str = "*",
    expiry: str | None = None,
    plain: str | None = None,
) -> str:
    """A token of the user. What is returned is nowhere else: only its hash is kept."""
    plain = plain or new_token(world.dice, "personal")
    try:
        db.insert(
            store.token,
            account_id=user.account_id,
            user_id=user.id,
            digest=world.keyring.digest(plain),
            shown=plain[: min(SHOWN, len(plain) // 2)],
            label=label,
            scopes=scopes,
            created=clock.text(world.clock.now()),
            expiry=expiry,
        )
    except Clash:
        raise Invalid("This token is in use already", field="token") from None
    return plain
