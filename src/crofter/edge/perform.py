"""One request from the token to the answer, in the order of checks that the interface promises."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Set
from functools import partial
from typing import Any

import msgspec

from crofter import audit
from crofter.context import Actor, Context, Runtime
from crofter.db import Session
from crofter.db.database import LockFirst, TransactionConflict
from crofter.edge import idempotency, planning
from crofter.edge.arguments import Deferred, Request, read_query
from crofter.edge.endpoint import Endpoint
from crofter.edge.listing import Listing
from crofter.edge.problems import Fault, body_of, status_of
from crofter.errors import Forbidden, Invalid, Problem, ScopeMissing, Unauthenticated, Unavailable
from crofter.results import NoContent, Pieces, ReadAfterCommit, Reply, Stream, TwoPhaseWrite
from crofter.scopes import covers
from crofter.shapes import Page

log = logging.getLogger("crofter")
TRIES = 5

_HOST = re.compile(r"[A-Za-z0-9.-]{1,255}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")

_encode = msgspec.json.Encoder().encode


class Access(msgspec.Struct, frozen=True):
    """How the server knows its people. The edge asks; the resources answer."""

    authenticate: Callable[[Runtime, Session, str], Actor | None]
    permits: Callable[[Context, str, int, str], bool]
    permits_globally: Callable[..., bool]


class Answer(msgspec.Struct, gc=False):
    status: int
    body: bytes
    actor: Actor | None = None
    content_type: str | None = None
    headers: list[tuple[bytes, bytes]] = []
    rows: int = 0
    stream: Stream | None = None
    download: Pieces | None = None
    problem: Problem | None = None
    two_phase: TwoPhaseWrite[Any] | None = None
    read_after: ReadAfterCommit[Any] | None = None
    fields: list[str] = []
    """The names of what was sent, for the record of a write that is not done yet."""


class Performer:
    """Runs endpoints: authenticates, finds objects, reads bodies, and turns whatever happens into an answer."""

    def __init__(
        self, runtime: Runtime, access: Access, rate_change: planning.RateChange = lambda _ctx: (0, 0)
    ) -> None:
        self.runtime = runtime
        self.access = access
        self.rate_change = rate_change

    def perform(self, endpoint: Endpoint, values: dict[str, Any], request: Request) -> Answer:
        actor: Actor | None = None
        try:
            if not endpoint.writes:
                with self.runtime.database.read() as db:
                    actor = self._actor(endpoint, request, db)
                    _admit(endpoint, actor)
                    return self._run(endpoint, values, request, self._context(db, actor, request), None)
            with self.runtime.database.read() as db:
                actor = self._actor(endpoint, request, db)
            _admit(endpoint, actor)
            body = Deferred(endpoint, request)
            return self._retry_on_conflict(lambda first: self._write(endpoint, values, request, actor, body, first))
        except planning.Undone as undone:
            return Answer(200, undone.body, actor, headers=[planning.APPLIED])
        except Problem as problem:
            return refused(problem, actor)
        except Exception:
            log.exception("request %s failed", request.id)
            return refused(Fault(), actor)

    def _retry_on_conflict(
        self, write: Callable[[Set[int]], Answer], lost: tuple[type[Exception], ...] = (TransactionConflict,)
    ) -> Answer:
        """A write that lost against another one has left no trace, and is done once more."""
        first: set[int] = set()
        for _ in range(TRIES):
            try:
                return write(first)
            except LockFirst as wanted:
                first.add(wanted.account_id)
            except lost:
                continue
        raise Unavailable

    def _context(self, db: Session, actor: Actor | None, request: Request) -> Context:
        return Context(
            self.runtime, db, actor, address=request.address, request_id=request.id, origin=lambda: _origin(request)
        )

    def _actor(self, endpoint: Endpoint, request: Request, db: Session) -> Actor | None:
        presented = bearer(request.headers.get(b"authorization"))
        actor = self.access.authenticate(self.runtime, db, presented) if presented else None
        if actor is None and not endpoint.public:
            raise Unauthenticated
        return actor

    def _write(
        self,
        endpoint: Endpoint,
        values: dict[str, Any],
        request: Request,
        actor: Actor | None,
        body: Deferred,
        first: Set[int] = frozenset(),
    ) -> Answer:
        key = request.headers.get(b"idempotency-key") if endpoint.method == "POST" and actor else None
        with self.runtime.database.write() as db:
            if actor is not None:
                for account_id in sorted({actor.account_id, *first}):
                    db.lock_account(account_id)
                if not self.runtime.database.holds_writer_lock:
                    actor = self._actor(endpoint, request, db)  # it may have been revoked while we waited our turn
            ctx = self._context(db, actor, request)
            if actor is not None and planning.wanted(request.headers):
                run = partial(self._run, endpoint, values, request, ctx, body)
                raise planning.Undone(planning.plan(ctx, endpoint, lambda: run().two_phase, self.rate_change))
            if key is None:
                return self._change(endpoint, values, request, ctx, body)
            name, print_ = (
                idempotency.checked(key),
                idempotency.fingerprint(self.runtime.keyring, endpoint.method, request.path, request.body),
            )
            earlier = idempotency.earlier(ctx, name, print_)
            if earlier is not None:
                return Answer(earlier[0], earlier[1], actor, headers=[(b"idempotent-replayed", b"true")])
            answer = self._change(endpoint, values, request, ctx, body)
            if answer.two_phase is None:
                idempotency.keep(ctx, name, print_, answer.status, answer.body)
            return answer

    def finish(self, endpoint: Endpoint, request: Request, begun: Answer) -> Answer:
        """The second half of a write: what no transaction may wait for."""
        actor, two_phase = begun.actor, begun.two_phase
        try:
            if begun.read_after is not None:
                return self._retry_on_conflict(lambda _first: self._look(request, begun))
            assert two_phase is not None
            result = two_phase.call()
            # What has happened outside must be written down here, even if that takes a while.
            return self._retry_on_conflict(
                lambda first: self._conclude(endpoint, request, begun, result, first),
                (TransactionConflict, Unavailable),
            )
        except Problem as problem:
            return refused(problem, actor)
        except Exception:
            log.exception("request %s failed", request.id)
            return refused(Fault(), actor)

    def read(self, download: Pieces, actor: Actor | None, start: int) -> bytes:
        """The next bytes of a file that is being sent; none if it is gone, or cannot be read now."""
        try:
            with self.runtime.database.read() as db:
                return download.read(Context(self.runtime, db, actor), start)
        except Problem:
            return b""

    def _look(self, request: Request, begun: Answer) -> Answer:
        assert begun.read_after is not None
        with self.runtime.database.read() as db:
            return answered(begun.read_after.look(self._context(db, begun.actor, request)), begun.actor)

    def _conclude(self, endpoint: Endpoint, request: Request, begun: Answer, result: Any, first: Set[int]) -> Answer:
        actor, two_phase = begun.actor, begun.two_phase
        assert two_phase is not None
        assert actor is not None
        with self.runtime.database.write() as db:
            for account_id in sorted({actor.account_id, *first}):
                db.lock_account(account_id)
            ctx = self._context(db, actor, request)
            outcome = two_phase.then(ctx, result)
            # On record even if it is refused now: what was written down before the world was asked stays written.
            audit.write(ctx, endpoint.name, request.path.decode("latin-1"), begun.fields)
            if isinstance(outcome, Problem):
                return refused(outcome, actor)
            answer = answered(outcome, actor)
            key = request.headers.get(b"idempotency-key")
            if key is not None:
                print_ = idempotency.fingerprint(self.runtime.keyring, endpoint.method, request.path, request.body)
                idempotency.keep(ctx, idempotency.checked(key), print_, answer.status, answer.body)
            return answer

    def _change(
        self, endpoint: Endpoint, values: dict[str, Any], request: Request, ctx: Context, body: Deferred
    ) -> Answer:
        answer = self._run(endpoint, values, request, ctx, body)
        if answer.two_phase is not None:
            answer.fields = body.fields()
        # Of a write in two halves each goes on record; the first one if it has promised anything.
        if ctx.caller is not None and (answer.two_phase is None or ctx.db.operations):
            audit.write(ctx, endpoint.name, request.path.decode("latin-1"), body.fields())
        return answer

    def _run(
        self, endpoint: Endpoint, values: dict[str, Any], request: Request, ctx: Context, body: Deferred | None
    ) -> Answer:
        arguments: dict[str, Any] = {name: values[name] for name in endpoint.plain}
        for name, lookup in endpoint.lookups.items():
            arguments[name] = lookup.find(ctx, *(values[part] for part in lookup.parts))
        if ctx.caller is not None and ctx.caller.restricted:
            self._check_grant(endpoint, values, ctx)
        if body is not None:
            try:
                body.into(arguments, ctx)
            except Invalid as problem:
                raise body.refusal(problem, lambda rest: endpoint.handler(ctx, **arguments, **rest)) from None
        if endpoint.listing is not None:
            arguments[endpoint.listing] = Listing(request.query, request.headers.get(b"x-filter"), endpoint.page_sizes)
        if endpoint.query:
            read_query(endpoint, request, arguments)
        return answered(endpoint.handler(ctx, **arguments), ctx.caller)

    def _check_grant(self, endpoint: Endpoint, values: dict[str, Any], ctx: Context) -> None:
        grant, _, level = endpoint.grant.partition(":")
        if grant == "any":
            return
        if grant == "unrestricted":
            raise Forbidden
        if grant == "account":
            allowed = self.access.permits_globally(ctx, "account_access", level)
        elif not level:
            allowed = self.access.permits_globally(ctx, grant)
        else:
            allowed = self.access.permits(ctx, grant, values[f"{grant}_id"], level)
        if not allowed:
            raise Forbidden


def _admit(endpoint: Endpoint, actor: Actor | None) -> None:
    """Whether the token may be used here; whose it is, is known by now, and the answer says so."""
    if actor is not None and not covers(actor.scopes, endpoint.scope):
        raise ScopeMissing


def _origin(request: Request) -> str:
    """The address that the client itself used, as far as it can be one."""
    host = request.headers.get(b"host", b"").decode("latin-1")
    return f"{request.scheme}://{host}" if _HOST.fullmatch(host) else ""


def answered(result: Any, actor: Actor | None) -> Answer:
    if result is None:
        return Answer(200, b"{}", actor)
    if isinstance(result, Page):
        return Answer(200, _encode(result), actor, rows=len(result.data))
    if isinstance(result, Reply):
        headers = [(name.encode(), value.encode()) for name, value in result.headers]
        if isinstance(result.content, Pieces):
            return Answer(200, b"", actor, content_type=result.content_type, headers=headers, download=result.content)
        return Answer(200, result.content, actor, content_type=result.content_type, headers=headers)
    if isinstance(result, NoContent):
        return Answer(204, b"", actor)
    if isinstance(result, TwoPhaseWrite):
        return Answer(202, b"{}", actor, two_phase=result)
    if isinstance(result, ReadAfterCommit):
        return Answer(202, b"{}", actor, read_after=result)
    if isinstance(result, Stream):
        return Answer(200, b"", actor, stream=result)
    return Answer(200, _encode(result), actor)


def refused(problem: Problem, actor: Actor | None) -> Answer:
    return Answer(status_of(problem), body_of(problem.reasons), actor, problem=problem)


def bearer(header: bytes | None) -> str | None:
    if header is None or header[:7].lower() != b"bearer ":
        return None
    return header[7:].strip().decode("latin-1")
