"""Authorization endpoint: the user decides whether an app may use the account."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import Response

from crofter.login import authorization_request, clients, pages, scopes, signin, token_families
from crofter.login.authorization_request import AuthorizationRequest, SentBack, Unanswerable
from crofter.login.browser import BrowserRequest
from crofter.login.exchange import refuse
from crofter.login.token_families import Refusal


def show(request: BrowserRequest) -> Response:
    try:
        authorization = authorization_request.read(request)
    except Unanswerable as problem:
        return _error_page(request, problem)
    except SentBack as back:
        return pages.redirect(request, back.location, 302)
    first_party = clients.is_console(authorization.client)
    if authorization.prompt == "none" and (request.session is None or not first_party):
        return _silently_refused(request, authorization)
    if request.session is None:
        return signin.form(request, _here(request), app="" if first_party else authorization.client.label)
    if first_party:  # the console is part of the server and needs no consent
        return pages.redirect(request, _allowed(request, authorization), 302)
    return pages.page(
        request,
        "consent.html",
        form_action=_source(authorization.redirect_uri),
        here=_here(request),
        app=authorization.client,
        host=urlsplit(authorization.redirect_uri).hostname or authorization.redirect_uri,
        user=request.session,
        lines=scopes.lines(authorization.scopes),
        left_out=scopes.left_out(authorization.scopes),
        scope=" ".join(authorization.scopes),
        redirect_uri=authorization.redirect_uri,
    )


def decide(request: BrowserRequest) -> Response:
    if request.session is None:
        return pages.redirect(request, _here(request))  # signed out meanwhile: in again, then authorization again
    request.check_form()
    try:
        authorization = authorization_request.read(request)
    except Unanswerable as problem:
        return _error_page(request, problem)
    except SentBack as back:
        return pages.redirect(request, back.location, 302)
    if request.field("decision") != "allow":
        words = "The user said no."
        denied = authorization_request.answer(
            request, authorization.redirect_uri, authorization.state, error="access_denied", error_description=words
        )
        return pages.redirect(request, denied, 302)
    return pages.redirect(request, _allowed(request, authorization), 302)


def _allowed(request: BrowserRequest, authorization: AuthorizationRequest) -> str:
    user = request.session
    assert user is not None
    granted = scopes.reduced(authorization.scopes, set(request.form.get("read_only", [])))
    named = authorization.redirect_uri if authorization.named else None
    code = request.write(
        lambda ctx: token_families.allow(ctx, authorization.client, user, granted, named, authorization.challenge)
    )
    return authorization_request.answer(request, authorization.redirect_uri, authorization.state, code=code)


def _silently_refused(request: BrowserRequest, authorization: AuthorizationRequest) -> Response:
    """Return the error for ``prompt=none`` if a page would be needed (OpenID Connect Core, 3.1.2.6)."""
    error, words = "consent_required", "The user has to allow this."
    if request.session is None:
        error, words = "login_required", "Nobody is signed in with this browser."
    refused = authorization_request.answer(
        request, authorization.redirect_uri, authorization.state, error=error, error_description=words
    )
    return pages.redirect(request, refused, 302)


def _here(request: BrowserRequest) -> str:
    return f"/oauth/authorize?{request.query_string}"


def _error_page(request: BrowserRequest, problem: Unanswerable) -> Response:
    """A page for a person; the same as JSON for a program that tries this out."""
    if "text/html" not in request.headers.get("accept", ""):
        return refuse(request, Refusal(problem.error, problem.text))
    return pages.message(request, "This app made a mistake", problem.text, status=400, detail=problem.error)


def _source(redirect_uri: str) -> str:
    """The place of an address as a content security policy names it; there is no form for IPv6 addresses."""
    parts = urlsplit(redirect_uri)
    if parts.scheme not in ("http", "https") or "[" in parts.netloc:
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"
