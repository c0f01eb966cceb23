"""Change of the password while signed in."""

from __future__ import annotations

from starlette.responses import Response

from crofter import audit, passwords
from crofter.context import Context
from crofter.login import attempts, credentials, known_browsers, pages, sessions, store
from crofter.login.attempts import Wait
from crofter.login.browser import BrowserRequest
from crofter.login.store import Person

HERE = "/login/change"
WRONG = "That is not your current password."
SAME = "The new password is the current one."
DIFFERENT = "The two new passwords are not the same."


def show(request: BrowserRequest) -> Response:
    return _form(request) if request.session else _first_sign_in(request)


def well_known(request: BrowserRequest) -> Response:
    """Redirect from the well-known address that password managers use."""
    return pages.redirect(request, HERE)


def submit(request: BrowserRequest) -> Response:
    if request.session is None:
        return _first_sign_in(request)
    request.check_form()
    user_id = request.session.user_id
    person = request.read(lambda ctx: ctx.db.one(store.BY_ID, user_id=user_id))
    counted = attempts.subjects(request.runtime, "login", f"change {person.id}")
    try:
        request.write(lambda ctx: attempts.count(ctx, counted))
    except Wait as wait:
        response = _form(request, "Too many attempts. Try again later.", 429)
        response.headers["retry-after"] = str(wait.seconds)
        return response
    if not passwords.of(request.runtime).verify(person.password, request.field("present")):
        request.write(lambda ctx: _record(ctx, person, "change_password_refused"))
        return _form(request, WRONG)
    request.write(lambda ctx: attempts.forget(ctx, counted))
    problem = _weakness(request, person)
    return _form(request, problem) if problem else _changed(request, person)


def _weakness(request: BrowserRequest, person: Person) -> str | None:
    wanted = request.field("password")
    if wanted == request.field("present"):
        return SAME
    return passwords.weakness(wanted, person.username, person.email) or (
        DIFFERENT if wanted != request.field("again") else None
    )


def _changed(request: BrowserRequest, person: Person) -> Response:
    hashed = passwords.of(request.runtime).hash(request.field("password"))

    def change(ctx: Context) -> str | None:
        now = ctx.db.maybe(store.BY_ID, user_id=person.id)
        if now is None or now.password != person.password:  # changed meanwhile, perhaps through a link from a mail
            return None
        credentials.replace(ctx, person, hashed)
        _record(ctx, person, "change_password")
        return sessions.begin(ctx, person)

    session = request.write(change)
    if session is None:
        return _form(request, WRONG)
    request.set_cookie("session", session)
    known_browsers.remember(request, person, hashed)
    return pages.redirect(request, "/login/?notice=changed")


def _record(ctx: Context, person: Person, entry: str) -> None:
    audit.write_without_token(ctx, person.account_id, person.username, entry, HERE, ["password"], user_id=person.id)


def _first_sign_in(request: BrowserRequest) -> Response:
    return pages.redirect(request, f"/login/?next={HERE}")


def _form(request: BrowserRequest, problem: str = "", status: int = 400) -> Response:
    return pages.page(
        request, "change.html", status=status if problem else 200, user=request.session, problem=problem, action=HERE
    )
