"""The authorization endpoint: a person is asked whether an app may use their account."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import Response

from crofter.login import authorization_request, pages, scopes, signin, token_families
from crofter.login.authorization_request import Asked, SentBack, Unanswerable
from crofter.login.browser import Visit
from crofter.login.exchange import refuse
from crofter.login.token_families import Refusal


def show(visit: Visit) -> Response:
    try:
        asked = authorization_request.read(visit)
    except Unanswerable as problem:
        return _told(visit, problem)
    except SentBack as back:
        return pages.redirect(visit, back.location, 302)
    if visit.session is None:
        return signin.form(visit, _here(visit), app=asked.client.label)
    return pages.page(
        visit,
        "consent.html",
        form_action=_source(asked.redirect_uri),
        here=_here(visit),
        app=asked.client,
        host=urlsplit(asked.redirect_uri).hostname or asked.redirect_uri,
        user=visit.session,
        lines=scopes.lines(asked.scopes),
        left_out=scopes.left_out(asked.scopes),
        scope=" ".join(asked.scopes),
        redirect_uri=asked.redirect_uri,
    )


def decide(visit: Visit) -> Response:
    if visit.session is None:
        return pages.redirect(visit, _here(visit))  # signed out meanwhile: in again, then asked again
    visit.check_form()
    try:
        asked = authorization_request.read(visit)
    except Unanswerable as problem:
        return _told(visit, problem)
    except SentBack as back:
        return pages.redirect(visit, back.location, 302)
    if visit.field("decision") != "allow":
        words = "The user said no."
        denied = authorization_request.answer(
            visit, asked.redirect_uri, asked.state, error="access_denied", error_description=words
        )
        return pages.redirect(visit, denied, 302)
    return pages.redirect(visit, _allowed(visit, asked), 302)


def _allowed(visit: Visit, asked: Asked) -> str:
    user = visit.session
    assert user is not None
    granted = scopes.reduced(asked.scopes, set(visit.form.get("read_only", [])))
    code = visit.write(
        lambda ctx: token_families.allow(ctx, asked.client, user, granted, asked.redirect_uri, asked.challenge)
    )
    return authorization_request.answer(visit, asked.redirect_uri, asked.state, code=code)


def _here(visit: Visit) -> str:
    return f"/oauth/authorize?{visit.query_string}"


def _told(visit: Visit, problem: Unanswerable) -> Response:
    """A page for a person; the same as JSON for a program that tries this out."""
    if "text/html" not in visit.headers.get("accept", ""):
        return refuse(visit, Refusal(problem.error, problem.text))
    return pages.message(visit, "This app made a mistake", problem.text, status=400, detail=problem.error)


def _source(redirect_uri: str) -> str:
    """The place of an address as a content security policy names it; there is no form for IPv6 addresses."""
    parts = urlsplit(redirect_uri)
    if parts.scheme not in ("http", "https") or "[" in parts.netloc:
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"
