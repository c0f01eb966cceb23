"""Execution of a request from the token to the response, in the order of checks that the interface promises."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Set
from functools import partial
from typing import Any

import msgspec

from crofter import audit
from crofter.context import Actor, Context, Runtime
from crofter.db import Session
from crofter.db.database import LockFirst, TransactionConflict
from crofter.edge import idempotency, planning
from crofter.edge.arguments import Deferred, Request, origin_of, read_query
from crofter.edge.endpoint import Endpoint
from crofter.edge.listing import Listing
from crofter.edge.problems import Fault, body_of, status_of
from crofter.edge.token_accounts import TokenAccounts
from crofter.errors import Forbidden, Invalid, Problem, ScopeMissing, Unauthenticated, Unavailable
from crofter.results import NoContent, Pieces, ReadAfterCommit, Reply, Stream, TwoPhaseWrite
from crofter.scopes import covers
from crofter.shapes import Page

log = logging.getLogger("crofter")
TRIES = 5

_encode = msgspec.json.Encoder().encode


class Access(msgspec.Struct, frozen=True):
    """Authentication functions. The edge calls them; resources provide them."""

    authenticate: Callable[[Runtime, Session, str], Actor | None]
    authenticating: Callable[[Runtime, Session, str], Callable[[], Actor | None]]
    """Deferred form: start several lookups, then send them in one round trip."""
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
    key: idempotency.Key | None = None
    """Key for the stored response of the second phase."""
    retry_after: int | None = None
    """Seconds for ``Retry-After`` instead of the rest of the rate window."""
    fields: list[str] = []
    """The names of what was sent, for the record of a write that is not done yet."""


class Caller(msgspec.Struct, gc=False):
    """The caller, as far as known."""

    actor: Actor | None = None
    account_id: int | None = None
    """Account of the token at its last use. Used to choose the lock only."""


class Performer:
    """Runs endpoints: authenticates, finds objects, reads bodies, and turns every result into a response."""

    def __init__(
        self, runtime: Runtime, access: Access, rate_change: planning.RateChange = lambda _ctx: (0, 0)
    ) -> None:
        self.runtime = runtime
        self.access = access
        self.rate_change = rate_change
        self._accounts = TokenAccounts()

    def perform(
        self,
        endpoint: Endpoint,
        values: dict[str, Any],
        request: Request,
        actor_of: Callable[[Request], Actor | None] | None = None,
    ) -> Answer:
        """``actor_of``: who a read's token stands for at the moment that is read, if that was looked up already."""
        caller = Caller()
        try:
            if not endpoint.writes:
                with self.runtime.database.read() as db:
                    if actor_of is None:
                        actor = caller.actor = self._actor(endpoint, request, db)
                    else:
                        actor = caller.actor = _required(endpoint, actor_of(request))
                    _admit(endpoint, actor)
                    return self._run(endpoint, values, request, self._context(db, actor, request), None)
            caller.account_id = self._accounts.of(request) if self.runtime.database.reads_block else None
            if caller.account_id is None:
                with self.runtime.database.read() as db:
                    caller.actor = self._actor(endpoint, request, db)
                _admit(endpoint, caller.actor)
            body = Deferred(endpoint, request)
            return self._retry_on_conflict(lambda first: self._write(endpoint, values, request, caller, body, first))
        except planning.Undone as undone:
            return Answer(200, undone.body, caller.actor, headers=[planning.APPLIED])
        except Unauthenticated as problem:
            return self._last_answer(endpoint, request) or refused(problem, None)
        except Problem as problem:
            return refused(problem, caller.actor)
        except Exception:
            log.exception("request %s failed", request.id)
            return refused(Fault(), caller.actor)

    def accounts_of(self, requests: Iterable[tuple[Endpoint, Request]]) -> list[int | None]:
        """Return the account that each request will write to, as far as tokens show. Not used for decisions."""
        requests = list(requests)
        unknown = [request for _endpoint, request in requests if self._accounts.of(request) is None]
        if unknown:
            with self.runtime.database.read() as db:
                for request in unknown:
                    presented = bearer(request.headers.get(b"authorization"))
                    actor = self.access.authenticate(self.runtime, db, presented) if presented else None
                    self._accounts.note(request, actor)
        return [self._accounts.of(request) for _endpoint, request in requests]

    def _last_answer(self, endpoint: Endpoint, request: Request) -> Answer | None:
        """Return the stored response of the request that closed the account; its token is refused elsewhere."""
        if not endpoint.closes_account:
            return None
        try:
            key = self._key(endpoint, request)
            if key is None:
                return None
            with self.runtime.database.read() as db:
                return _replayed(idempotency.given(self._context(db, None, request), key), None)
        except Problem:
            return None

    def _key(self, endpoint: Endpoint, request: Request) -> idempotency.Key | None:
        sent = request.headers.get(b"idempotency-key") if endpoint.method == "POST" else None
        if sent is None or (token := bearer(request.headers.get(b"authorization"))) is None:
            return None
        return idempotency.key_of(self.runtime.keyring, token, sent, endpoint.method, request.path, request.body)

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
        return _required(endpoint, self.access.authenticate(self.runtime, db, presented) if presented else None)

    def _write(
        self,
        endpoint: Endpoint,
        values: dict[str, Any],
        request: Request,
        caller: Caller,
        body: Deferred,
        first: Set[int] = frozenset(),
    ) -> Answer:
        with self.runtime.database.write() as db:
            actor = caller.actor
            own = caller.account_id if actor is None else actor.account_id
            if own is not None:
                for account_id in sorted({own, *first}):
                    db.lock_account(account_id)
                if not self.runtime.database.holds_writer_lock:
                    # The token may have been revoked while the request waited.
                    actor = caller.actor = self._actor(endpoint, request, db)
                    _admit(endpoint, actor)
                    self._accounts.note(request, actor)
                    if actor is not None and actor.account_id != own:
                        caller.account_id = None
                        raise LockFirst(actor.account_id)
            ctx = self._context(db, actor, request)
            key = None if actor is None else self._key(endpoint, request)
            if actor is not None and planning.wanted(request.headers):
                run = partial(self._run, endpoint, values, request, ctx, body)
                raise planning.Undone(planning.plan(ctx, endpoint, lambda: run().two_phase, self.rate_change))
            if key is None:
                return self._change(endpoint, values, request, ctx, body)
            replayed = _replayed(idempotency.earlier(ctx, key), actor)
            if replayed is not None:
                return replayed
            answer = self._change(endpoint, values, request, ctx, body)
            if answer.two_phase is None:
                idempotency.keep(ctx, key, answer.status, answer.body)
            else:
                idempotency.claim(ctx, key)
                answer.key = key
            return answer

    def finish(self, endpoint: Endpoint, request: Request, begun: Answer) -> Answer:
        """The second half of a write: what no transaction may wait for."""
        two_phase = begun.two_phase
        try:
            if begun.read_after is not None:
                return self._retry_on_conflict(lambda _first: self._look(request, begun))
            assert two_phase is not None
            result = two_phase.call()
            # The external effect must be recorded here, even if that takes a while.
            return self._retry_on_conflict(
                lambda first: self._conclude(endpoint, request, begun, result, first),
                (TransactionConflict, Unavailable),
            )
        except Problem as problem:
            return self._give_up(begun, problem)
        except Exception:
            log.exception("request %s failed", request.id)
            return self._give_up(begun, Fault())

    def _give_up(self, begun: Answer, problem: Problem) -> Answer:
        """The second phase came to nothing: its key is free again. If that cannot be written, the claim runs out."""
        answer, key = refused(problem, begun.actor), begun.key
        if key is None:
            return answer

        def release(_first: Set[int]) -> Answer:
            with self.runtime.database.write() as db:
                idempotency.release(db, key)
            return answer

        try:
            return self._retry_on_conflict(release)
        except Exception:
            log.exception("an Idempotency-Key stays claimed")
            return answer

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
            key = begun.key
            # A request that took over the claim of a slow request may have finished first, with the same effect.
            replayed = None if key is None else _replayed(idempotency.given(ctx, key), actor)
            if replayed is not None:
                return replayed
            outcome = two_phase.then(ctx, result)
            # Written even if the second phase is refused: the first phase is committed.
            audit.write(ctx, endpoint.name, request.path.decode("latin-1"), begun.fields)
            answer = refused(outcome, actor) if isinstance(outcome, Problem) else answered(outcome, actor)
            if key is not None and answer.problem is None:
                idempotency.keep(ctx, key, answer.status, answer.body)
            elif key is not None:
                idempotency.release(db, key)
            return answer

    def _change(
        self, endpoint: Endpoint, values: dict[str, Any], request: Request, ctx: Context, body: Deferred
    ) -> Answer:
        answer = self._run(endpoint, values, request, ctx, body)
        if answer.two_phase is not None:
            answer.fields = body.fields()
        # Both phases of a write have an audit entry; the first phase only if it has queued an operation.
        if ctx.caller is not None and (answer.two_phase is None or ctx.db.operations):
            audit.write(ctx, endpoint.name, request.path.decode("latin-1"), body.fields())
        return answer

    def _run(
        self, endpoint: Endpoint, values: dict[str, Any], request: Request, ctx: Context, body: Deferred | None
    ) -> Answer:
        arguments: dict[str, Any] = {name: values[name] for name in endpoint.plain}
        for name, lookup in endpoint.lookups.items():
            arguments[name] = lookup.find(ctx, *(values[part] for part in lookup.parts))
            if lookup.of is not None:
                values = {**values, lookup.of: getattr(arguments[name], lookup.of)}
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
            allowed = self.access.permits(ctx, grant, _number(values[f"{grant}_id"]), level)
        if not allowed:
            raise Forbidden


def _number(part: int | str) -> int:
    """The number that grants know an object by; images are called ``private/7`` in a path."""
    return part if isinstance(part, int) else int(part.rpartition("/")[2])


def _required(endpoint: Endpoint, actor: Actor | None) -> Actor | None:
    if actor is None and not endpoint.public:
        raise Unauthenticated
    return actor


def _admit(endpoint: Endpoint, actor: Actor | None) -> None:
    """Check that the token permits the endpoint. The actor is already known and appears in the response."""
    if actor is not None and not covers(actor.scopes, endpoint.scope):
        raise ScopeMissing


def _origin(request: Request) -> str:
    return origin_of(request.scheme, request.headers.get(b"host", b"").decode("latin-1"))


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


def _replayed(kept: idempotency.Answered | None, actor: Actor | None) -> Answer | None:
    return None if kept is None else Answer(*kept, actor, headers=[(b"idempotent-replayed", b"true")])


def refused(problem: Problem, actor: Actor | None) -> Answer:
    return Answer(status_of(problem), body_of(problem.reasons), actor, problem=problem)


def bearer(header: bytes | None) -> str | None:
    if header is None or header[:7].lower() != b"bearer ":
        return None
    return header[7:].strip().decode("latin-1")
