"""Setting a person's password."""

from __future__ import annotations

from crofter.context import Context
from crofter.journal import Author, write
from crofter.kinds import Entity
from crofter.login import sessions, store
from crofter.login.store import Person
from crofter.resources.users.store import user


def replace(ctx: Context, person: Person, hashed: str) -> None:
    """The new password, hashed already. Whoever was signed in with the old one is not any more."""
    ctx.db.update(user, {"id": person.id}, password=hashed)
    ctx.db.delete(store.link, user_id=person.id)
    sessions.end_all(ctx, person.id)
    author = Author(person.account_id, person.id, person.username)
    entity = Entity("profile", None, person.username, "/v4/profile")
    write(ctx.db, ctx.now, author, "profile_update", "notification", entity)
