"""Browsers with an earlier sign-in. Unlike a trusted browser, a known browser still needs the second factor.

Guesses of strangers use up the tries of strangers, not those of the owner in such a browser.
"""

from __future__ import annotations

import hmac

from crofter.clock import DAY
from crofter.login.browser import BrowserRequest
from crofter.login.store import Person

COOKIE = "known"
LIFE = 90 * DAY
_LENGTH = 32


def remember(request: BrowserRequest, person: Person, password: str) -> None:
    """Give the browser its proof. ``password`` is the hash that is kept: a new password ends all proofs."""
    name = request.runtime.rng.hex(_LENGTH)
    request.set_cookie(COOKIE, f"{name}.{_proof(request, person, password, name)}", LIFE // 1000)


def name_of(request: BrowserRequest, person: Person | None) -> str | None:
    """Return the name of a known browser of this user, or None."""
    name, _, given = (request.cookie(COOKIE) or "").partition(".")
    if person is None or person.password is None or len(name) != _LENGTH:
        return None
    good = hmac.compare_digest(given.encode(), _proof(request, person, person.password, name).encode())
    return name if good else None


def _proof(request: BrowserRequest, person: Person, password: str, name: str) -> str:
    return request.runtime.keyring.digest(f"known browser {name} {person.id} {password}").hex()
