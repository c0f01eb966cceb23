"""The application in a dialect: what comes in and goes out passes here, and what is between knows nothing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Set
from functools import cache, lru_cache
from typing import Any
from urllib.parse import unquote_to_bytes

from crofter.dialect import answers, mounted, requests
from crofter.dialect.answers import Outward
from crofter.dialect.file import Dialect
from crofter.dialect.inserts import Inserts
from crofter.dialect.rules import Tree
from crofter.dialect.shapes import FilterShape, Reader, Shape
from crofter.dialect.under_way import addresses
from crofter.edge.app import App, ASGIApp, Parts, Receive, Scope, Send, is_secure
from crofter.edge.arguments import Request
from crofter.edge.endpoint import Endpoint
from crofter.edge.headers import Header
from crofter.edge.limits import RateLimitStatus
from crofter.edge.perform import Answer
from crofter.edge.planning import APPLIED, PlanView
from crofter.results import Stream

JSON = (None, "application/json")
OWN_WORDS = (b"x-dialect", b"none")
"""The header of a request that is sent and answered as on a server without a dialect."""


class DialectApp(App):
    """``views``: the shapes of objects that are shown where an answer may show any object."""

    def __init__(self, parts: Parts, dialect: Dialect, endpoints: Iterable[Endpoint], views: Iterable[Any]) -> None:
        super().__init__(parts)
        self._dialect = dialect
        self._reader = Reader(views)
        self._by_path = {(endpoint.method, endpoint.path): endpoint for endpoint in endpoints}
        self._rules: dict[str, tuple[Inserts, Tree | None]] = {}
        for endpoint in self._by_path.values():
            if rules := dialect.rules.get(endpoint.name):
                inserts = Inserts(rules, endpoint.answers, dialect.words)
                self._rules[endpoint.name] = inserts, Tree(inserts.rest) if inserts.rest else None
        # Worked out when an endpoint is first called: most of them never are.
        self._outward = cache(self._make_outward)
        self._body = cache(self._make_body)
        self._filter = cache(self._make_filter)
        self._own_filter = lru_cache(512)(self._make_own_filter)
        if dialect.words is not None:
            self._words = dialect.words
            self._plan = Outward(self._reader.of(PlanView), dialect.words)
            self._build_headers = answers.headers(dialect.words)

    # requests

    def own_path(self, raw_path: bytes) -> bytes:
        """A path that a caller sent, in the interface's own words."""
        return self._dialect.paths.own(raw_path)

    def takes_upload(self, method: str, raw_path: bytes) -> bool:
        return super().takes_upload(method, self.own_path(raw_path))

    def mounted(self, mounts: Mapping[str, ASGIApp]) -> Mapping[str, ASGIApp]:
        return mounted.mounted(mounts, self._dialect)

    def in_words(self, page: str) -> str:
        return page if self._dialect.words is None else answers.document(page, self._dialect.words)

    def described(self, document: str) -> str:
        from crofter.dialect.described import described  # noqa: PLC0415 - few ever ask

        return described(self.in_words(document), self._dialect)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not in_own_words(scope):
            sent = scope["raw_path"]
            raw_path = self.own_path(sent)
            if raw_path is not sent:
                # Work on a copy: readers of the connection need the path that was sent.
                path = unquote_to_bytes(raw_path) if b"%" in raw_path else raw_path
                scope = {**scope, "raw_path": raw_path, "path": path.decode("utf-8", "replace")}
        await super().__call__(scope, receive, send)

    async def _endpoint(
        self, endpoint: Endpoint, values: dict[str, Any], scope: Scope, receive: Receive, request_id: str
    ) -> tuple[Answer, RateLimitStatus]:
        changes = endpoint.listing is not None and self._dialect.words is not None
        if changes and _filters(scope) and not in_own_words(scope):
            headers = [
                (name, self._own_filter(endpoint, sent) if name == b"x-filter" else sent)
                for name, sent in scope["headers"]
            ]
            scope = {**scope, "headers": headers}
        return await super()._endpoint(endpoint, values, scope, receive, request_id)

    async def perform(self, endpoint: Endpoint, values: dict[str, Any], request: Request) -> Answer:
        changes = endpoint.body is not None and self._dialect.words is not None
        if changes and request.headers.get(OWN_WORDS[0]) != OWN_WORDS[1]:
            request.body = requests.inward(request.body, self._body(endpoint), self._words)
        return await super().perform(endpoint, values, request)

    # responses

    async def _send(
        self,
        endpoint: Endpoint | None,
        answer: Answer,
        rate_status: RateLimitStatus | None,
        scope: Scope,
        receive: Receive,
        send: Send,
        request_id: str,
    ) -> None:
        if answer.download is None and answer.content_type in JSON and not in_own_words(scope):
            body = answer.body if self._dialect.words is None else self._in_words(endpoint, answer)
            rules = self._rules.get(endpoint.name) if endpoint is not None else None
            if rules is not None and answer.status < 300 and body and APPLIED not in answer.headers:
                inserts, tree = rules
                body = inserts.apply(body)
                if tree is not None:
                    path = scope["path"].rstrip("/").replace("/v4beta/", "/v4/")
                    body = tree.apply(body, path, await self._under_way(tree, answer))
            answer.body = body
        await super()._send(endpoint, answer, rate_status, scope, receive, send, request_id)

    def _headers(
        self, endpoint: Endpoint | None, answer: Answer, limit: RateLimitStatus, scope: Scope, request_id: str
    ) -> list[Header]:
        if self._dialect.words is None or in_own_words(scope):
            return super()._headers(endpoint, answer, limit, scope, request_id)
        return self._build_headers(endpoint, answer, limit, request_id, is_secure(scope))

    def _in_words(self, endpoint: Endpoint | None, answer: Answer) -> bytes:
        if answer.status >= 300 or endpoint is None:
            return answers.refusal(answer.body, self._words) if answer.status >= 300 else answer.body
        if answer.headers and APPLIED in answer.headers:
            return self._plan(answer.body)
        return self._outward(endpoint)(answer.body)

    async def _stream(
        self, endpoint: Endpoint | None, answer: Answer, scope: Scope, receive: Receive, send: Send, request_id: str
    ) -> Answer:
        if endpoint is None or self._dialect.words is None or in_own_words(scope):
            return await super()._stream(endpoint, answer, scope, receive, send, request_id)
        outward = self._outward(endpoint)

        async def send_in_words(message: Any) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": outward(message["body"])}
            await send(message)

        return await super()._stream(endpoint, answer, scope, receive, send_in_words, request_id)

    async def _under_way(self, tree: Tree, answer: Answer) -> Mapping[str, Set[str]]:
        if not tree.actions or answer.actor is None:
            return {}
        database, account_id = self.parts.performer.runtime.database, answer.actor.account_id
        if self.threads.inline:
            return addresses(database, account_id, tree.actions)
        return await asyncio.get_running_loop().run_in_executor(
            self.threads.pool, addresses, database, account_id, tree.actions
        )

    # endpoints

    def _make_outward(self, endpoint: Endpoint) -> Outward:
        if endpoint.answers is Stream:  # its frames are what the list above it shows
            endpoint = self._by_path[endpoint.method, endpoint.path.rpartition("/")[0]]
            return Outward(self._reader.of(endpoint.item), self._words)
        return Outward(self._reader.of(endpoint.answers), self._words)

    def _make_body(self, endpoint: Endpoint) -> Shape | None:
        return self._reader.of(endpoint.body)

    def _make_filter(self, endpoint: Endpoint) -> Shape:
        return FilterShape(self._reader.of(endpoint.item))

    def _make_own_filter(self, endpoint: Endpoint, sent: bytes) -> bytes:
        """Kept for a while: programs send few filters, over and over."""
        return requests.inward(sent, self._filter(endpoint), self._words)


def in_own_words(scope: Scope) -> bool:
    """True if the request wants the interface's own words, as the console does."""
    return OWN_WORDS in scope["headers"]


def _filters(scope: Scope) -> bool:
    return any(name == b"x-filter" for name, _ in scope["headers"])
