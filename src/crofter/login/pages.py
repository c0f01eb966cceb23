"""Answers of the login service: pages made from templates, redirects, JSON; each with its headers."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from crofter.login.browser import BrowserRequest

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'{more};"
    " frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# Apps that run in a browser call these from their own origin. No cookie is looked at there.
OPEN_TO_SCRIPTS = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-headers": "Authorization, Content-Type",
    "cross-origin-resource-policy": "cross-origin",
}


@lru_cache(maxsize=1)
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("crofter.login"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@lru_cache(maxsize=1)
def style() -> bytes:
    return resources.files("crofter.login").joinpath("style.css").read_bytes()


def page(
    request: BrowserRequest, template: str, *, status: int = 200, form_action: str = "", **values: Any
) -> Response:
    """A page. ``form_action`` is where, besides here, its form may lead by a redirect: browsers check that too."""
    text = _templates().get_template(template).render(request=request, **values)
    headers = {"content-security-policy": POLICY.format(more=f" {form_action}" if form_action else "")}
    return _finished(request, Response(text, status, headers, "text/html"))


def message(
    request: BrowserRequest,
    title: str,
    text: str,
    *,
    status: int = 200,
    detail: str = "",
    action: str = "",
    action_label: str = "",
) -> Response:
    """A page with one thing to say, and perhaps one thing to do next."""
    return page(
        request,
        "message.html",
        status=status,
        title=title,
        text=text,
        detail=detail,
        action=action,
        action_label=action_label,
    )


def redirect(request: BrowserRequest, url: str, status: int = 303) -> Response:
    headers = {"location": url, "content-security-policy": POLICY.format(more="")}
    return _finished(request, Response(b"", status, headers))


def stylesheet(request: BrowserRequest) -> Response:
    response = _finished(request, Response(style(), 200, media_type="text/css"))
    response.headers["cache-control"] = "public, max-age=300"
    return response


def json(request: BrowserRequest, value: Any, status: int = 200, **headers: str) -> Response:
    response = _finished(request, Response(msgspec.json.encode(value), status, media_type="application/json"))
    response.headers.update(OPEN_TO_SCRIPTS)
    response.headers.update({"content-security-policy": "default-src 'none'", "pragma": "no-cache", **headers})
    return response


def _finished(request: BrowserRequest, response: Response) -> Response:
    response.headers.update(HEADERS)
    if request.secure:
        response.headers["strict-transport-security"] = "max-age=31536000; includeSubDomains"
    for name, (value, seconds) in request.cookies.items():
        response.set_cookie(
            request.cookie_name(name),
            value,
            max_age=seconds or None if value else 0,
            secure=request.secure,
            httponly=True,
            samesite="lax",
        )
    return response
