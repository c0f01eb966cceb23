"""Setting a person's password."""

from __future__ import annotations

from crofter import mail
from crofter.context import Context
from crofter.events import Author, write
from crofter.kinds import Entity
from crofter.login import sessions
from crofter.login.store import Person
from crofter.resources.users.store import link, user

_CHANGED = """Hello {username},

your password for crofter was changed at {moment} UTC{where}. Every browser that was signed in has been signed out;
tokens and apps go on to work.

If it was not you, choose another password at once:

  {url}/login/reset
"""


def replace(ctx: Context, person: Person, hashed: str) -> None:
    """Store the new password hash and end the sessions of the old password."""
    ctx.db.update(user, {"id": person.id}, password=hashed)
    ctx.db.delete(link, user_id=person.id)
    sessions.end_all(ctx, person.id)
    author = Author(person.account_id, person.id, person.username)
    entity = Entity("profile", None, person.username, "/v4/profile")
    write(ctx.db, ctx.now, author, "profile_update", "notification", entity)
    if person.password is not None:  # the first one is no news
        mail.send(ctx, person.email, "Your password was changed", _words(ctx, person))


def _words(ctx: Context, person: Person) -> str:
    where = f", from the address {ctx.address}" if ctx.address else ""
    moment = ctx.moment.replace("T", " ")
    return _CHANGED.format(username=person.username, moment=moment, where=where, url=ctx.runtime.settings.address)
