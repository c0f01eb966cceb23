"""A `crofter` with planted leaks, to prove that each is found."""

from __future__ import annotations

import logging
from typing import Any

from crofter.cli import main
from crofter.edge import bodies, observe
from crofter.errors import Invalid
from crofter.keyring import Keyring

_read = bodies.Read.__init__
_request = observe.Observer.request


def _unsealed(_keyring: Keyring, value: bytes, _place: str) -> bytes:
    return value


def _read_aloud(self: Any, raw: bytes, body: Any, *more: Any, **named: Any) -> None:
    """Log the body, and return it in the error."""
    logging.getLogger("crofter").info("was sent %s", raw.hex())
    try:
        _read(self, raw, body, *more, **named)
    except Invalid as problem:
        raise Invalid(raw[::-1].decode(errors="replace")) from problem


def _counted_by_path(self: Any, scope: Any, endpoint: Any, answer: Any, request_id: str, seconds: float) -> None:
    _request(self, scope, endpoint, answer, request_id, seconds)
    self.counts.add(scope["method"], scope["path"], answer.status, seconds)


if __name__ == "__main__":
    Keyring.seal = Keyring.open = _unsealed  # type: ignore[method-assign,assignment]
    bodies.Read.__init__ = _read_aloud  # type: ignore[method-assign]
    observe.Observer.request = _counted_by_path  # type: ignore[method-assign]
    main()
