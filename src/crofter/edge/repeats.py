"""Waiting for the answer to a request that was sent twice at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

from crofter.edge.perform import Answer
from crofter.errors import UnderWay

PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 0.8, 0.8, 0.8)
"""Seconds between checks. After the last check the client gets 503."""
MOST = 100
"""Maximum number of waiting repeats: each keeps a body in memory. Others are refused with 503."""


class Repeats:
    """Requests whose ``Idempotency-Key`` is claimed by one under way. They wait on no thread and hold no lock."""

    def __init__(self, resting: Callable[[], AbstractContextManager[None]]) -> None:
        self._resting = resting
        self._waiting = 0

    async def answer(self, first: Answer, perform: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the response of the running request; if that request is refused, perform this one."""
        if self._waiting >= MOST:
            return first
        answer = first
        self._waiting += 1
        try:
            for pause in PAUSES:
                with self._resting():
                    await asyncio.sleep(pause)
                answer = await perform()
                if not isinstance(answer.problem, UnderWay):
                    break
            return answer
        finally:
            self._waiting -= 1
