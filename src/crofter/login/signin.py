"""Signing in: name and password, then a code where two factors are asked for; and signing out."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import quote

import msgspec
from msgspec import Struct
from starlette.responses import Response

from crofter import audit, passwords
from crofter.clock import MINUTE
from crofter.context import Context
from crofter.keyring import Unopenable
from crofter.login import attempts, pages, sessions, store
from crofter.login.attempts import Subject, Wait
from crofter.login.browser import Visit
from crofter.login.store import Person
from crofter.resources.logins import rules as history
from crofter.resources.profile.two_factor import rules as two_factor
from crofter.resources.users.store import user as users

WRONG = "Username or password is wrong."
WRONG_CODE = "The code is wrong, or has been used already."
TICKET_LIFE = 5 * MINUTE
NOTICES = {
    "password": "Your password is set. Sign in with it.",
    "changed": "Your password is changed. Every other browser is signed out.",
}
_WITHIN = ("/oauth/authorize?", "/console/", "/login/change")
"""Where a login may lead to. Anywhere else would make us a signpost for strangers."""


class Ticket(Struct, frozen=True):
    """Handed to a browser that has shown the right password, sealed: whose it was, and until when it counts."""

    user_id: int
    remember: bool
    until: int


def show(visit: Visit) -> Response:
    target = _target(visit)
    if visit.session is None:
        return form(visit, target)
    if target:
        return pages.redirect(visit, target)
    return pages.page(visit, "signedin.html", user=visit.session, notice=_notice(visit))


def form(visit: Visit, target: str, *, app: str = "", problem: str = "", status: int = 200) -> Response:
    return pages.page(
        visit,
        "login.html",
        status=status,
        action=_action(target),
        app=app,
        problem=problem,
        notice=_notice(visit),
        username=visit.field("username"),
        remember=bool(visit.field("remember_me")),
    )


def _notice(visit: Visit) -> str:
    return NOTICES.get(visit.query.get("notice", [""])[0], "")


def submit(visit: Visit) -> Response:
    visit.check_form()
    try:
        return _with_code(visit) if visit.field("ticket") else _with_password(visit)
    except Wait as wait:
        words = f"Too many attempts. Try again in {_minutes(wait.seconds)}."
        response = form(visit, _target(visit), problem=words, status=429)
        response.headers["retry-after"] = str(wait.seconds)
        return response


def _with_password(visit: Visit) -> Response:
    typed, password = visit.field("username"), visit.field("password")

    def look(ctx: Context) -> tuple[Person | None, int | None]:
        person = ctx.db.maybe(store.BY_USERNAME, username=typed)
        return person, sessions.trusted(ctx, person, visit.cookie("device")) if person else None

    person, device_id = visit.read(look)
    counted = _counted(visit, typed, device_id)
    visit.write(lambda ctx: attempts.count(ctx, counted))
    kept = person.password if person else None
    if not passwords.of(visit.runtime).verify(kept, password) or person is None or kept is None:
        visit.write(lambda ctx: _note(ctx, person, successful=False) if person else attempts.touch(ctx, counted))
        return form(visit, _target(visit), problem=WRONG, status=401)
    if person.tfa_enabled and device_id is None and not visit.field("tfa_code"):
        visit.write(lambda ctx: attempts.take_back(ctx, counted))
        return _ask_for_code(visit, person, remember=bool(visit.field("remember_me")))
    anew = passwords.of(visit.runtime).hash(password) if passwords.of(visit.runtime).outdated(kept) else None
    return _enter(visit, person, counted, device_id, remember=bool(visit.field("remember_me")), anew=anew)


def _with_code(visit: Visit) -> Response:
    ticket = _opened(visit, visit.field("ticket"))
    person = visit.read(lambda ctx: ctx.db.maybe(store.BY_ID, user_id=ticket.user_id)) if ticket else None
    if ticket is None or person is None:
        return form(visit, _target(visit), problem="That took too long. Sign in again.", status=401)
    counted = _counted(visit, person.username, None)
    visit.write(lambda ctx: attempts.count(ctx, counted))
    return _enter(visit, person, counted, None, remember=ticket.remember)


def _enter(
    visit: Visit,
    person: Person,
    counted: list[Subject],
    device_id: int | None,
    *,
    remember: bool,
    anew: str | None = None,
) -> Response:
    """All that happens when somebody comes in, or is sent away at the last step, in one transaction."""

    def change(ctx: Context) -> tuple[str, str | None] | None:
        code = visit.field("tfa_code")
        asked = person.tfa_enabled and device_id is None
        if asked and not two_factor.accepts(ctx.runtime, ctx.db, person.id, code):
            _note(ctx, person, successful=False)
            return None
        attempts.forget(ctx, counted[:1])
        attempts.take_back(ctx, counted[1:])
        if anew is not None:
            ctx.db.update(users, {"id": person.id}, password=anew)
        if (before := visit.cookie("session")) is not None:
            sessions.end(ctx, before)
        if device_id is not None:
            sessions.seen(ctx, device_id)
        agent = visit.headers.get("user-agent", "")[:256]
        device = sessions.trust(ctx, person, agent) if remember and device_id is None else None
        _note(ctx, person, successful=True)
        return sessions.begin(ctx, person), device

    entered = visit.write(change)
    if entered is None:
        return _ask_for_code(visit, person, remember=remember, problem=WRONG_CODE, status=401)
    session, device = entered
    visit.set_cookie("session", session)
    if device is not None:
        visit.set_cookie("device", device, sessions.TRUSTED // 1000)
    return pages.redirect(visit, _target(visit) or "/login/")


def _ask_for_code(visit: Visit, person: Person, *, remember: bool, problem: str = "", status: int = 200) -> Response:
    ticket = Ticket(person.id, remember, visit.runtime.clock.now() + TICKET_LIFE)
    sealed = visit.runtime.keyring.seal(msgspec.json.encode(ticket), _place(visit))
    return pages.page(
        visit,
        "code.html",
        status=status,
        action=_action(_target(visit)),
        ticket=base64.urlsafe_b64encode(sealed).decode(),
        problem=problem,
    )


def _opened(visit: Visit, text: str) -> Ticket | None:
    try:
        sealed = base64.urlsafe_b64decode(text)
        ticket = msgspec.json.decode(visit.runtime.keyring.open(sealed, _place(visit)), type=Ticket)
    except (Unopenable, binascii.Error, ValueError):
        return None
    return ticket if ticket.until > visit.runtime.clock.now() else None


def _place(visit: Visit) -> str:
    """A ticket opens in the browser that it was made for."""
    return f"login ticket:{visit.cookie('form')}"


def ask_to_leave(visit: Visit) -> Response:
    return pages.page(visit, "logout.html", user=visit.session)


def leave(visit: Visit) -> Response:
    visit.check_form()
    if visit.session is not None:
        visit.write(lambda ctx: _leave(visit, ctx))
        visit.set_cookie("session", "")
    target = _target(visit)
    return pages.redirect(visit, target) if target else pages.message(visit, "Signed out", "See you soon.")


def _leave(visit: Visit, ctx: Context) -> None:
    user, secret = visit.session, visit.cookie("session")
    assert user is not None
    assert secret is not None
    sessions.end(ctx, secret)
    audit.write_without_token(ctx, user.account_id, user.username, "sign_out", "/login/logout", user_id=user.user_id)


def _counted(visit: Visit, username: str, device_id: int | None) -> list[Subject]:
    """A trusted browser has attempts of its own, so that strangers cannot use up those of its owner."""
    who = f"device {device_id}" if device_id is not None else f"user {username}"
    by_name = attempts.subjects(visit.runtime, "login", who)
    return by_name + attempts.subjects(visit.runtime, "login_address", visit.address)


def _note(ctx: Context, person: Person, *, successful: bool) -> None:
    history.note(
        ctx.runtime,
        ctx.db,
        account_id=person.account_id,
        user_id=person.id,
        username=person.username,
        restricted=person.restricted,
        ip=ctx.address,
        successful=successful,
    )
    entry = "sign_in" if successful else "sign_in_refused"
    audit.write_without_token(ctx, person.account_id, person.username, entry, "/login/", user_id=person.id)


def _target(visit: Visit) -> str:
    asked = visit.query.get("next", [""])
    target = asked[0] if len(asked) == 1 else ""
    plain = target.isascii() and target.isprintable() and "\\" not in target
    return target if plain and target.startswith(_WITHIN) else ""


def _action(target: str) -> str:
    return f"/login/?next={quote(target, safe='')}" if target else "/login/"


def _minutes(seconds: int) -> str:
    minutes = -(-seconds // 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"
