"""Links sent by mail that let a person set a password: invitations and resets."""

from __future__ import annotations

from typing import Protocol

from crofter import clock, mail
from crofter.clock import DAY, HOUR
from crofter.context import Context
from crofter.resources.users import store

INVITATION_LIFE = 7 * DAY
RESET_LIFE = HOUR

_INVITATION = """Hello {username},

you have been invited to use crofter. Choose a password here:

  {url}

The link works once, until {until} UTC. Your user name is {username}.
"""
_RESET = """Hello {username},

somebody, hopefully you, has asked for a new password. Choose one here:

  {url}

The link works once, until {until} UTC. If it was not you, do nothing: your password stays as it is.
"""

_MOVED = """Hello {username},

the e-mail address of your user at crofter was changed. Mail goes to the new one from now on, and links that were sent
here do not work any more.

If you did not want this, tell somebody who manages the users of your account.
"""


class Invited(Protocol):
    """Fields of a user that mails need."""

    @property
    def id(self) -> int: ...
    @property
    def username(self) -> str: ...
    @property
    def email(self) -> str: ...


def invite(ctx: Context, user: Invited) -> None:
    """Mail a new user the link that lets them choose a password."""
    _send(ctx, user, INVITATION_LIFE, "Your invitation to crofter", _INVITATION)


def remind(ctx: Context, user: Invited) -> None:
    """Mail a user who has forgotten the password the link that lets them choose another."""
    _send(ctx, user, RESET_LIFE, "A new password for crofter", _RESET)


def follow(ctx: Context, user: Invited, before: str) -> None:
    """Handle a changed address: links sent to the old one become invalid.

    A user who has not signed in yet is invited again; otherwise the old address is notified.
    """
    if user.email == before:
        return
    ctx.db.delete(store.link, user_id=user.id)
    if ctx.db.value(store.HAS_PASSWORD, user_id=user.id) is None:
        invite(ctx, user)
    else:
        mail.send(ctx, before, "Your e-mail address was changed", _MOVED.format(username=user.username))


def _send(ctx: Context, user: Invited, life: int, subject: str, words: str) -> None:
    secret, expiry = ctx.rng.hex(64), clock.text(ctx.now + life)
    ctx.db.delete(store.link, user_id=user.id)  # the latest link is the only one
    ctx.db.insert(store.link, user_id=user.id, digest=ctx.runtime.keyring.digest(secret), expiry=expiry)
    # From the settings, never from the request, whose Host header could redirect the link.
    url = f"{ctx.runtime.settings.address}/login/password?token={secret}"
    mail.send(ctx, user.email, subject, words.format(username=user.username, url=url, until=expiry.replace("T", " ")))


def holder(ctx: Context, secret: str) -> int | None:
    """The id of the user whose password a link sets, while it is good."""
    user_id: int | None = ctx.db.value(store.LINK, digest=ctx.runtime.keyring.digest(secret), moment=ctx.moment)
    return user_id
