"""Commands of ``crofter admin`` on access to accounts: suspend, resume, reset the second factor."""

from __future__ import annotations

from collections.abc import Callable

from crofter.cli.operators import Arguments, Rows, on_record
from crofter.context import ALL_SCOPES, Actor, Context, Runtime
from crofter.db import Session, query
from crofter.db.sql import bindparam, select
from crofter.errors import Invalid, NotFound
from crofter.resources.account import store as accounts
from crofter.resources.account.store import Account
from crofter.resources.users import store as people

_SUSPENDED = query(select(accounts.account.c.suspended).where(accounts.account.c.id == bindparam("id")))


def _set_suspended(runtime: Runtime, arguments: Arguments) -> Rows:
    """Suspend or resume an account. Its users can neither sign in nor use tokens; instances run on and cost."""
    wanted = arguments["verb"] == "suspend"
    with runtime.database.write() as db:
        account = account_of(db, arguments["euuid"])
        ctx = Context.of_system(runtime, db, account.id)
        if bool(db.value(_SUSPENDED, id=account.id)) == wanted:
            raise Invalid(f"account {account.euuid} is {'' if wanted else 'not '}suspended")
        db.update(accounts.account, {"id": account.id}, suspended=wanted)
        on_record(ctx, arguments, account.id, "/v4/account", ("suspended",))
    return [{"euuid": account.euuid, "suspended": wanted}]


def account_of(db: Session, euuid: str) -> Account:
    account = accounts.by_euuid(db, euuid)
    if account is None:
        raise NotFound(f"there is no account {euuid}")
    return account


# ---- users ----------------------------------------------------------------------------------------------------------


def _reset_two_factor(runtime: Runtime, arguments: Arguments) -> Rows:
    """Turn off a lost second factor and sign the user out of all browsers."""
    from crofter.login import sessions  # noqa: PLC0415
    from crofter.resources.profile.two_factor import store as two_factor  # noqa: PLC0415

    with runtime.database.write() as db:
        user = _user(db, arguments["username"])
        if not user.tfa_enabled:
            raise Invalid(f"user {user.username} has no second factor")
        db.lock_account(user.account_id)
        actor = Actor(user.account_id, user.id, user.username, user.restricted, 0, ALL_SCOPES)
        ctx = Context(runtime, db, actor)
        two_factor.disable(ctx)
        sessions.end_all(ctx, user.id)
        on_record(ctx, arguments, user.account_id, f"/v4/account/users/{user.username}", ("tfa_enabled",))
    return [{"username": user.username, "tfa_enabled": False}]


def _delete_user(runtime: Runtime, arguments: Arguments) -> Rows:
    from crofter.resources.users import rules as users  # noqa: PLC0415

    with runtime.database.write() as db:
        user = _user(db, arguments["username"])
        db.lock_account(user.account_id)
        ctx = Context.of_system(runtime, db, user.account_id)
        users.delete(ctx, user)
        on_record(ctx, arguments, user.account_id, f"/v4/account/users/{user.username}")
    return [{"deleted": user.username}]


def _user(db: Session, username: str) -> people.User:
    user = db.maybe(people.BY_USERNAME, username=username)
    if user is None:
        raise NotFound(f"there is no user {username}")
    return user


RECORDED: dict[str, Callable[[Runtime, Arguments], Rows]] = {
    "accounts suspend": _set_suspended,
    "accounts resume": _set_suspended,
    "users reset-two-factor": _reset_two_factor,
    "users delete": _delete_user,
}
