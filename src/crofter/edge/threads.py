"""On which thread a request is done: on the event loop's own, or where it may wait without holding others up."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from crofter.edge import group_reads, planning
from crofter.edge.arguments import Request
from crofter.edge.endpoint import Endpoint
from crofter.edge.group_reads import GroupReads
from crofter.edge.group_writes import GroupWrites
from crofter.edge.perform import Answer, Performer, refused
from crofter.edge.write_queue import WriteQueue
from crofter.errors import Unavailable


class Threads:
    def __init__(self, performer: Performer, amount: int) -> None:
        database = performer.runtime.database
        self._performer = performer
        self.inline = not database.reads_block
        """True if reads are faster than a thread switch."""
        self.pool = ThreadPoolExecutor(amount, "request", initializer=database.answers_callers)
        """Threads for long and for single requests."""
        self.writes = WriteQueue(performer) if self.inline else GroupWrites(performer, self.pool)
        self.reads = GroupReads(performer, self.pool)
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.writes.open()
        if not self.inline:
            self.reads.open()

    def close(self) -> None:
        self.writes.close()
        self.reads.close()
        self.pool.shutdown(wait=False, cancel_futures=True)

    async def perform(
        self, endpoint: Endpoint, values: dict[str, Any], request: Request, *, elsewhere: bool = False
    ) -> Answer:
        """Run an endpoint. ``elsewhere``: the cached catalogue has the response, so no silent database is awaited."""
        if self._queues(endpoint, request):
            return await self.writes.perform(endpoint, values, request)
        # How long a filter takes is up to who sends it, and to how much they have.
        quick = not (endpoint.writes or endpoint.slow or b"x-filter" in request.headers)
        if quick and self.inline:
            return self._performer.perform(endpoint, values, request)
        performed = (self.reads.submit if quick else self._in_pool)(endpoint, values, request)
        if elsewhere:
            await asyncio.wait((performed,), timeout=group_reads.MAX_QUEUE_SECONDS)
            if not performed.done():
                performed.cancel()
                return refused(Unavailable(), None)
        return await performed

    def _in_pool(self, endpoint: Endpoint, values: dict[str, Any], request: Request) -> asyncio.Future[Answer]:
        since = time.monotonic()

        def perform() -> Answer:
            if time.monotonic() - since > group_reads.MAX_QUEUE_SECONDS:
                return refused(Unavailable(), None)
            with self._performer.runtime.database.caller_waits_since(since - request.waited):
                return self._performer.perform(endpoint, values, request)

        assert self._loop is not None
        return self._loop.run_in_executor(self.pool, perform)

    def _queues(self, endpoint: Endpoint, request: Request) -> bool:
        """True if the request may share a commit: no slow upload, and on PostgreSQL no plan, which is rolled back."""
        if not endpoint.writes or endpoint.upload is not None:
            return False
        return self.inline or not planning.wanted(request.headers)
