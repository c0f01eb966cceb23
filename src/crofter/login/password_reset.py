"""Password reset by a mailed link, and the request for that mail."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from crofter import audit, passwords
from crofter.context import Context
from crofter.login import attempts, credentials, guesses, pages, store
from crofter.login.attempts import Wait
from crofter.login.browser import BrowserRequest
from crofter.login.store import Person
from crofter.resources.users import invitations


def ask(request: BrowserRequest) -> Response:
    return pages.page(request, "reset.html")


def mail_link(request: BrowserRequest) -> Response:
    """Mail a reset link. The response is the same for every name or address: it must not reveal who has an account."""
    request.check_form()
    typed = request.field("username").strip()
    if "@" in typed:
        typed = typed.lower()  # so that other spellings of an address give no extra tries
    counted = attempts.subjects(request.runtime, "login", f"reset {typed}")
    counted += attempts.subjects(request.runtime, "login_address", f"reset {guesses.network_of(request.address)}")

    def change(ctx: Context) -> None:
        attempts.count(ctx, counted)
        for person in _named(ctx, typed):
            invitations.remind(ctx, person)
            audit.write_without_token(
                ctx, person.account_id, person.username, "ask_for_link", "/login/reset", user_id=person.id
            )

    try:
        request.write(change)
    except Wait as wait:
        response = pages.message(
            request, "Too many requests", "Look into your mailbox, or try again later.", status=429
        )
        response.headers["retry-after"] = str(wait.seconds)
        return response
    return pages.message(
        request, "Look into your mailbox", "If there is such a user, a mail with a link is on its way."
    )


def _named(ctx: Context, typed: str) -> Sequence[Person]:
    """A user name has no @. Each user of an address gets a mail of their own, which says the name."""
    if "@" in typed:
        return ctx.db.all(store.BY_EMAIL, email=typed)
    person = ctx.db.maybe(store.BY_USERNAME, username=typed)
    return [] if person is None else [person]


def choose(request: BrowserRequest) -> Response:
    """Looking at the page does not use up the link: programs that read mail open links too."""
    given = request.query.get("token", [""])
    secret = given[0] if len(given) == 1 else ""
    person = request.read(lambda ctx: _holder(ctx, secret))
    return _form(request, person, secret) if person else _dead(request)


def set_password(request: BrowserRequest) -> Response:
    request.check_form()
    secret, password = request.field("token"), request.field("password")
    person = request.read(lambda ctx: _holder(ctx, secret))
    if person is None:
        return _dead(request)
    problem = passwords.weakness(password, person.username, person.email)
    if problem is None and password != request.field("again"):
        problem = "The two passwords are not the same."
    if problem is not None:
        return _form(request, person, secret, problem)
    hashed = passwords.of(request.runtime).hash(password)

    def change(ctx: Context) -> bool:
        if invitations.holder(ctx, secret) is None:
            return False
        credentials.replace(ctx, person, hashed)
        audit.write_without_token(
            ctx, person.account_id, person.username, "set_password", "/login/password", ["password"], user_id=person.id
        )
        return True

    if not request.write(change):
        return _dead(request)
    request.set_cookie("session", "")
    return pages.redirect(request, "/login/?notice=password")


def _holder(ctx: Context, secret: str) -> Person | None:
    """Return the user whose password a valid link sets, or None."""
    user_id = invitations.holder(ctx, secret)
    return None if user_id is None else ctx.db.maybe(store.BY_ID, user_id=user_id)


def _form(request: BrowserRequest, person: Person, secret: str, problem: str = "") -> Response:
    status = 400 if problem else 200
    return pages.page(request, "password.html", status=status, person=person, secret=secret, problem=problem)


def _dead(request: BrowserRequest) -> Response:
    text = "It has been used, or it is too old."
    title = "This link does not work any more"
    return pages.message(request, title, text, status=410, action="/login/reset", action_label="Ask for another link")
