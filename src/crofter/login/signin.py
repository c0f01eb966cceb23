"""Sign-in with name, password and second factor; and sign-out."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from urllib.parse import quote

import msgspec
from msgspec import Struct
from starlette.responses import Response

from crofter import audit, passwords
from crofter.clock import MINUTE
from crofter.context import Context
from crofter.keyring import Unopenable
from crofter.login import attempts, guesses, known_browsers, pages, sessions, store
from crofter.login.attempts import Crowded, Wait
from crofter.login.browser import BrowserRequest
from crofter.login.store import Person
from crofter.resources.logins import store as history
from crofter.resources.profile.two_factor import store as two_factor
from crofter.resources.users.store import user as users

WRONG = "Username or password is wrong."
WRONG_CODE = "The code is wrong, or has been used already."
REFUSED = "Too many attempts. Try again in {}."
CROWDED = "Too many are trying to sign in with this name. Try again in {}, or add the code of your second factor."
_COUNTED_IN_MINUTES = 60
PROOF_LIFE = 5 * MINUTE
CONSOLE = "/console/"
"""Default destination after a sign-in."""
NOTICES = {
    "password": "Your password is set. Sign in with it.",
    "changed": "Your password is changed. Every other browser is signed out.",
}
_WITHIN = ("/oauth/authorize?", "/console/", "/login/change")
"""Allowed destinations after a sign-in. Others would be an open redirect."""


class PasswordProof(Struct, frozen=True):
    """Given, sealed, to a browser that has sent the right password: whose it is, and until when it counts."""

    user_id: int
    remember: bool
    until: int


def show(request: BrowserRequest) -> Response:
    target = _target(request)
    if request.session is None:
        return form(request, target)
    if target:
        return pages.redirect(request, target)
    return pages.page(request, "signedin.html", user=request.session, notice=_notice(request))


def form(
    request: BrowserRequest,
    target: str,
    *,
    app: str = "",
    problem: str = "",
    status: int = 200,
    crowded: bool = False,
) -> Response:
    return pages.page(
        request,
        "login.html",
        status=status,
        action=_action(target),
        app=app,
        problem=problem,
        notice=_notice(request),
        username=request.field("username"),
        remember=bool(request.field("remember_me")),
        crowded=crowded,
    )


def _notice(request: BrowserRequest) -> str:
    return NOTICES.get(request.query.get("notice", [""])[0], "")


def submit(request: BrowserRequest) -> Response:
    request.check_form()
    try:
        return _with_code(request) if request.field("ticket") else _with_password(request)
    except Wait as wait:
        crowded = isinstance(wait, Crowded)
        words = (CROWDED if crowded else REFUSED).format(_time(wait.seconds))
        response = form(request, _target(request), problem=words, status=429, crowded=crowded)
        response.headers["retry-after"] = str(wait.seconds)
        return response


def _with_password(request: BrowserRequest) -> Response:
    typed, password, code = request.field("username"), request.field("password"), request.field("tfa_code")

    def look(ctx: Context) -> tuple[Person | None, int | None]:
        person = ctx.db.maybe(store.BY_USERNAME, username=typed)
        return person, sessions.trusted(ctx, person, request.cookie("device")) if person else None

    person, device_id = request.read(look)
    tried = guesses.at_password(request, typed, person, device_id)
    taken = request.write(lambda ctx: tried.count(ctx, person, code))
    kept = person.password if person else None
    if not passwords.of(request.runtime).verify(kept, password) or person is None or kept is None:
        request.write(lambda ctx: _note(ctx, person, successful=False) if person else tried.touch(ctx))
        return form(request, _target(request), problem=WRONG, status=401)
    remember = bool(request.field("remember_me"))
    needs_code = person.tfa_enabled and device_id is None
    if needs_code and not code:
        request.write(lambda ctx: tried.was_no_guess(ctx, taken))
        return _ask_for_code(request, person, remember=remember)
    codes = guesses.at_code(request, person) if needs_code else []
    if codes:
        request.write(lambda ctx: attempts.count(ctx, codes))
    anew = passwords.of(request.runtime).hash(password) if passwords.of(request.runtime).outdated(kept) else None

    def settle(ctx: Context) -> None:
        tried.succeeded(ctx, taken)
        attempts.forget(ctx, codes)

    return _enter(request, person, settle, device_id, remember=remember, anew=anew)


def _with_code(request: BrowserRequest) -> Response:
    proof = _opened(request, request.field("ticket"))
    person = request.read(lambda ctx: ctx.db.maybe(store.BY_ID, user_id=proof.user_id)) if proof else None
    if proof is None or person is None:
        return form(request, _target(request), problem="That took too long. Sign in again.", status=401)
    codes = guesses.at_code(request, person)
    request.write(lambda ctx: attempts.count(ctx, codes))
    return _enter(request, person, lambda ctx: attempts.forget(ctx, codes), None, remember=proof.remember)


def _enter(
    request: BrowserRequest,
    person: Person,
    settle: Callable[[Context], None],
    device_id: int | None,
    *,
    remember: bool,
    anew: str | None = None,
) -> Response:
    """Complete the sign-in, or refuse it at the last step, in one transaction."""

    def change(ctx: Context) -> tuple[str, str | None] | None:
        code = request.field("tfa_code")
        needs_code = person.tfa_enabled and device_id is None
        if needs_code and not two_factor.accepts(ctx.runtime, ctx.db, person.id, code):
            _note(ctx, person, successful=False)
            return None
        settle(ctx)
        if anew is not None:
            ctx.db.update(users, {"id": person.id}, password=anew)
        if (before := request.cookie("session")) is not None:
            sessions.end(ctx, before)
        if device_id is not None:
            sessions.seen(ctx, device_id)
        agent = request.headers.get("user-agent", "")[:256]
        device = sessions.trust(ctx, person, agent) if remember and device_id is None else None
        _note(ctx, person, successful=True)
        return sessions.begin(ctx, person), device

    entered = request.write(change)
    if entered is None:
        return _ask_for_code(request, person, remember=remember, problem=WRONG_CODE, status=401)
    session, device = entered
    request.set_cookie("session", session)
    if device is not None:
        request.set_cookie("device", device, sessions.TRUSTED // 1000)
    known_browsers.remember(request, person, anew or person.password or "")
    return pages.redirect(request, _target(request) or CONSOLE)


def _ask_for_code(
    request: BrowserRequest, person: Person, *, remember: bool, problem: str = "", status: int = 200
) -> Response:
    proof = PasswordProof(person.id, remember, request.runtime.clock.now() + PROOF_LIFE)
    sealed = request.runtime.keyring.seal(msgspec.json.encode(proof), _associated_data(request))
    return pages.page(
        request,
        "code.html",
        status=status,
        action=_action(_target(request)),
        ticket=base64.urlsafe_b64encode(sealed).decode(),
        problem=problem,
    )


def _opened(request: BrowserRequest, text: str) -> PasswordProof | None:
    try:
        sealed = base64.urlsafe_b64decode(text)
        proof = msgspec.json.decode(request.runtime.keyring.open(sealed, _associated_data(request)), type=PasswordProof)
    except (Unopenable, binascii.Error, msgspec.MsgspecError, ValueError):
        return None
    return proof if proof.until > request.runtime.clock.now() else None


def _associated_data(request: BrowserRequest) -> str:
    """A proof opens in the browser that it was made for, and in no other."""
    return f"login ticket:{request.cookie('form')}"


def ask_to_leave(request: BrowserRequest) -> Response:
    return pages.page(request, "logout.html", user=request.session)


def leave(request: BrowserRequest) -> Response:
    request.check_form()
    if request.session is not None:
        request.write(lambda ctx: _leave(request, ctx))
        request.set_cookie("session", "")
    target = _target(request)
    return pages.redirect(request, target) if target else pages.message(request, "Signed out", "See you soon.")


def _leave(request: BrowserRequest, ctx: Context) -> None:
    user, secret = request.session, request.cookie("session")
    assert user is not None
    assert secret is not None
    sessions.end(ctx, secret)
    audit.write_without_token(ctx, user.account_id, user.username, "sign_out", "/login/logout", user_id=user.user_id)


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


def _target(request: BrowserRequest) -> str:
    targets = request.query.get("next", [""])
    target = targets[0] if len(targets) == 1 else ""
    plain = target.isascii() and target.isprintable() and "\\" not in target
    return target if plain and target.startswith(_WITHIN) else ""


def _action(target: str) -> str:
    return f"/login/?next={quote(target, safe='')}" if target else "/login/"


def _time(seconds: int) -> str:
    if seconds < _COUNTED_IN_MINUTES:
        return "a second" if seconds == 1 else f"{seconds} seconds"
    minutes = -(-seconds // 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"
