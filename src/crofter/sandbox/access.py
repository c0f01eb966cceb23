"""Access to the sandbox API: for programs on this machine, or with the key."""

from __future__ import annotations

import hmac
from typing import Any
from urllib.parse import urlsplit

from crofter.config import Settings, is_loopback
from crofter.errors import Forbidden, Unauthenticated

_PROXIED = (b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip", b"forwarded", b"via")
"""Headers that proxies add to a request."""
_OWN_PAGES = (b"same-origin", b"none")
"""Values of a browser for requests of our own pages, and of typed addresses."""
_PORTS = {"http": 80, "https": 443}
_KEY = b"x-sandbox-key"


def check(settings: Settings, scope: Any, sent: dict[bytes, bytes]) -> None:
    """Refuse callers without permission, and every foreign web page."""
    if sent.get(b"sec-fetch-site", b"same-origin") not in _OWN_PAGES:
        raise Forbidden
    if settings.sandbox_key is None:
        _check_peer(scope, sent)
    else:
        _check_key(settings, sent, settings.sandbox_key)


def _check_key(settings: Settings, sent: dict[bytes, bytes], key: str) -> None:
    """From any address and through any proxy, by a name that it has, with the key."""
    host = sent.get(b"host", b"").decode("latin-1").lower()
    if not _is_allowed(settings, host):
        raise Forbidden
    if b"origin" in sent and not _same_site(sent[b"origin"].decode("latin-1").lower(), host):
        raise Forbidden
    if not hmac.compare_digest(sent.get(_KEY, b""), key.encode()):
        raise Unauthenticated("The header X-Sandbox-Key is missing or wrong")


def _is_allowed(settings: Settings, host: str) -> bool:
    """True if the server has this name. Otherwise a page could point its own name at our address and reach us through a
    browser.
    """
    name = _origin(f"http://{host}")
    if name is None:
        return False
    if is_loopback(settings.host) and is_loopback(name[1]):
        return True
    return not {host, name[1], f"[{name[1]}]"}.isdisjoint(settings.allowed_hosts)


def _same_site(origin: str, host: str) -> bool:
    """True if the page is our own. TLS may end at a proxy, so the scheme is ignored."""
    theirs, ours = _origin(origin), _origin(f"{origin.partition('://')[0]}://{host}")
    return theirs is not None and theirs == ours


def _check_peer(scope: Any, sent: dict[bytes, bytes]) -> None:
    """Refuse callers on other machines."""
    client = scope.get("client")
    if client is not None and not is_loopback(client[0]):
        raise Forbidden
    # A proxy on this machine would give access to all its clients.
    if any(name in sent for name in _PROXIED):
        raise Forbidden
    host = _origin(f"{scope.get('scheme', 'http')}://{sent[b'host'].decode('latin-1')}") if sent.get(b"host") else None
    if sent.get(b"host") and not (host and is_loopback(host[1])):
        raise Forbidden
    # Not every page of this machine either: another port is another program's, or another person's.
    if b"origin" in sent and (host is None or _origin(sent[b"origin"].decode("latin-1")) != host):
        raise Forbidden


def _origin(text: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address, or None where there is none."""
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    strange = "@" in parts.netloc or parts.path not in ("", "/")
    return (parts.scheme, parts.hostname, port) if parts.hostname and port and not strange else None
