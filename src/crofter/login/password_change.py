"""Changing one's password while signed in."""

from __future__ import annotations

from starlette.responses import Response

from crofter import audit, passwords
from crofter.context import Context
from crofter.login import attempts, credentials, pages, sessions, store
from crofter.login.attempts import Wait
from crofter.login.browser import Visit
from crofter.login.store import Person

HERE = "/login/change"
WRONG = "That is not your current password."
SAME = "The new password is the current one."
DIFFERENT = "The two new passwords are not the same."


def show(visit: Visit) -> Response:
    return _form(visit) if visit.session else _first_sign_in(visit)


def well_known(visit: Visit) -> Response:
    """Where programs that keep passwords look for this page."""
    return pages.redirect(visit, HERE)


def submit(visit: Visit) -> Response:
    if visit.session is None:
        return _first_sign_in(visit)
    visit.check_form()
    user_id = visit.session.user_id
    person = visit.read(lambda ctx: ctx.db.one(store.BY_ID, user_id=user_id))
    counted = attempts.subjects(visit.runtime, "login", f"change {person.id}")
    try:
        visit.write(lambda ctx: attempts.count(ctx, counted))
    except Wait as wait:
        response = _form(visit, "Too many attempts. Try again later.", 429)
        response.headers["retry-after"] = str(wait.seconds)
        return response
    if not passwords.of(visit.runtime).verify(person.password, visit.field("present")):
        visit.write(lambda ctx: _record(ctx, person, "change_password_refused"))
        return _form(visit, WRONG)
    visit.write(lambda ctx: attempts.forget(ctx, counted))
    problem = _weakness(visit, person)
    return _form(visit, problem) if problem else _changed(visit, person)


def _weakness(visit: Visit, person: Person) -> str | None:
    wanted = visit.field("password")
    if wanted == visit.field("present"):
        return SAME
    return passwords.weakness(wanted, person.username, person.email) or (
        DIFFERENT if wanted != visit.field("again") else None
    )


def _changed(visit: Visit, person: Person) -> Response:
    hashed = passwords.of(visit.runtime).hash(visit.field("password"))

    def change(ctx: Context) -> str | None:
        now = ctx.db.maybe(store.BY_ID, user_id=person.id)
        if now is None or now.password != person.password:  # somebody was quicker, with a link from a mail perhaps
            return None
        credentials.replace(ctx, person, hashed)
        _record(ctx, person, "change_password")
        return sessions.begin(ctx, person)

    session = visit.write(change)
    if session is None:
        return _form(visit, WRONG)
    visit.set_cookie("session", session)
    return pages.redirect(visit, "/login/?notice=changed")


def _record(ctx: Context, person: Person, entry: str) -> None:
    audit.write_without_token(ctx, person.account_id, person.username, entry, HERE, ["password"], user_id=person.id)


def _first_sign_in(visit: Visit) -> Response:
    return pages.redirect(visit, f"/login/?next={HERE}")


def _form(visit: Visit, problem: str = "", status: int = 400) -> Response:
    return pages.page(
        visit, "change.html", status=status if problem else 200, user=visit.session, problem=problem, action=HERE
    )
