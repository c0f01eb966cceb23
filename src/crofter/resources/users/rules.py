"""Rules of users and tokens."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

from crofter import clock, passwords
from crofter.context import Context, Runtime
from crofter.db import Duplicate, Session
from crofter.errors import Invalid
from crofter.events import record
from crofter.keyring import SHOWN, new_token
from crofter.kinds import Entity
from crofter.resources.account.store import account
from crofter.resources.users import invitations, store
from crofter.resources.users.shapes import UserCreate, UserUpdate, UserView, username_complaint
from crofter.resources.users.store import User
from crofter.shapes import given

TAKEN = "Username is taken"


class Opened(Struct, frozen=True):
    """A new account with its first user, and the only sight of the token."""

    euuid: str
    username: str
    token: str


def check_username(username: str) -> None:
    if not 3 <= len(username) <= 32:
        raise Invalid("Length must be 3-32 characters", field="username")
    if (complaint := username_complaint(username)) is not None:
        raise Invalid(complaint, field="username")


def open_account(
    runtime: Runtime,
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
    moment = clock.text(runtime.clock.now())
    euuid = runtime.rng.uuid()
    account_id = db.insert(
        account,
        euuid=euuid,
        email=email,
        active_since=moment,
        closed=False,
        managed=managed,
        public_ips=public_ips,
    )
    hashed = passwords.of(runtime).hash(password) if password else None
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
    except Duplicate:
        raise Invalid(TAKEN, field="username") from None
    user = User(user_id, account_id, username, email, False)
    return Opened(euuid, username, issue_token(runtime, db, user, label="first token", plain=token))


def issue_token(
    runtime: Runtime,
    db: Session,
    user: User,
    *,
    label: str,
    scopes: str = "*",
    expiry: str | None = None,
    plain: str | None = None,
) -> str:
    """A token of the user. What is returned is nowhere else: only its hash is kept."""
    return make_token(runtime, db, user.account_id, user.id, label=label, scopes=scopes, expiry=expiry, plain=plain)[1]


def make_token(
    runtime: Runtime,
    db: Session,
    account_id: int,
    user_id: int,
    *,
    label: str,
    scopes: str,
    expiry: str | None,
    plain: str | None = None,
) -> tuple[int, str]:
    """A new token: its id, and the only sight of it."""
    plain = plain or new_token(runtime.rng, "personal")
    try:
        token_id = db.insert(
            store.token,
            account_id=account_id,
            user_id=user_id,
            digest=runtime.keyring.digest(plain),
            shown=plain[: min(SHOWN, len(plain) // 2)],
            label=label,
            scopes=scopes,
            created=clock.text(runtime.clock.now()),
            expiry=expiry,
        )
    except Duplicate:
        raise Invalid("This token is in use already", field="token") from None
    return token_id, plain


def views(ctx: Context, users: list[User]) -> list[UserView]:
    """Users as they are shown, with the labels of their SSH keys."""
    labels = store.ssh_key_labels(ctx, [user.id for user in users])
    return [
        UserView(user.email, user.restricted, labels.get(user.id, []), user.tfa_enabled, user.username)
        for user in users
    ]


def create(ctx: Context, body: UserCreate) -> UserView:
    """A user without a password, who is sent an invitation to set one."""
    try:
        user_id = ctx.db.insert(
            store.user,
            account_id=ctx.account_id,
            username=body.username,
            email=body.email,
            restricted=body.restricted,
            created=ctx.moment,
        )
    except Duplicate:
        raise Invalid(TAKEN, field="username") from None
    user = User(user_id, ctx.account_id, body.username, body.email, body.restricted)
    record(ctx, "user_create", entity(user))
    invitations.invite(ctx, user)
    return views(ctx, [user])[0]


def update(ctx: Context, user: User, body: UserUpdate) -> UserView:
    changes = given(body)
    if body.restricted is True and not user.restricted:
        _must_not_be_last(ctx, user, "restricted")
    if changes.get("restricted", user.restricted) != user.restricted:
        # Restricted users begin with nothing, unrestricted ones need no grants.
        changes["global_grants"] = None
        ctx.db.delete(store.grant, user_id=user.id)
    if changes:
        try:
            ctx.db.update(store.user, {"account_id": ctx.account_id, "id": user.id}, **changes)
        except Duplicate:
            raise Invalid(TAKEN, field="username") from None
    changed = store.by_username(ctx, changes.get("username", user.username))
    record(ctx, "user_update", entity(changed))
    invitations.follow(ctx, changed, user.email)
    return views(ctx, [changed])[0]


def delete(ctx: Context, user: User) -> None:
    """Everything that lets the user in goes with the row: password, sessions, tokens, what apps were allowed."""
    if user.id == ctx.actor.user_id:
        raise Invalid("You cannot delete your own user")
    if not user.restricted:
        _must_not_be_last(ctx, user)
    ctx.db.delete(store.user, account_id=ctx.account_id, id=user.id)
    record(ctx, "user_delete", entity(user))


def entity(user: User) -> Entity:
    return Entity("user", user.id, user.username, "/v4/account/users/" + quote(user.username, safe=""))


def _must_not_be_last(ctx: Context, user: User, field: str | None = None) -> None:
    if not store.others_unrestricted(ctx, user.id):
        raise Invalid("An account needs at least one unrestricted user", field=field)
