"""Accounts of tokens, remembered from their last use."""

from __future__ import annotations

from crofter.context import Actor
from crofter.edge.arguments import Request


class TokenAccounts:
    """The account of each token that has written lately, so that a write can lock it before anything is read.

    Nothing is decided by it: the token is looked up under that lock. Tokens themselves are not kept.
    """

    MOST = 20_000

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def of(self, request: Request) -> int | None:
        return self._numbers.get(hash(request.headers.get(b"authorization")))

    def note(self, request: Request, actor: Actor | None) -> None:
        key = hash(request.headers.get(b"authorization"))
        if actor is None:
            self._numbers.pop(key, None)
        elif self._numbers.get(key) != actor.account_id:
            if len(self._numbers) >= self.MOST:
                self._numbers.clear()
            self._numbers[key] = actor.account_id
