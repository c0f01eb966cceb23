"""Observed responses of every endpoint and events of every write in a test run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from msgspec import Struct, field

from crofter.audit import audit
from crofter.db import Row, query
from crofter.db.sql import select
from crofter.dialect.app import DialectApp, in_own_words
from crofter.edge.app import App
from crofter.edge.endpoint import Endpoint
from crofter.errors import Problem
from crofter.events import event
from crofter.registry import ENDPOINTS

UNCHANGED = {
    "assign_ips": "an instance may have the address already",
    "share_ips": "the same may be shared already",
    "share_ipv4s": "likewise",
    "cancel_account": "an account that has no instances and owes nothing",
    "create_payment": "repeated after a crash: the recovery has written the payment and its event already",
    "delete_instance": "one that is being deleted already",
    "disable_managed_service": "a service without an open issue, whose ticket would be closed",
    "disable_two_factor": "it was not on",
    "execute_paypal_payment": "asked for twice, or after a crash: the payment and its event are written already",
    "update_instance_ip": "the reverse name that the address has already",
    "update_ip": "nothing is said about the reverse name",
}
"""Writes that may leave none of the events they declare, and when that is right."""


class Written(Row):
    """A write that was committed, as the audit log has it."""

    account_id: int
    request_id: str
    operation: str
    events: list[int]


class Happened(Row):
    """A row of the event log."""

    id: int
    account_id: int
    action: str


_WRITTEN = query(select(*(audit.c[name] for name in Written.__struct_fields__)), Written)
_HAPPENED = query(select(*(event.c[name] for name in Happened.__struct_fields__)), Happened)


class Record(Struct):
    """Observations of a process, or of all processes of a run."""

    answers: dict[str, set[int]] = field(default_factory=dict)
    """The statuses that each operation has answered with."""
    events: dict[str, set[str]] = field(default_factory=dict)
    """The actions that each operation has left in the event log: in its transaction, or by the work that it began."""
    unchanged: set[str] = field(default_factory=set)
    """Operations that have left none of the events they declare."""

    def add(self, other: Record) -> None:
        for name, statuses in other.answers.items():
            self.answers.setdefault(name, set()).update(statuses)
        for name, actions in other.events.items():
            self.events.setdefault(name, set()).update(actions)
        self.unchanged |= other.unchanged


class Watch:
    """An ASGI application that records the responses of a server."""

    def __init__(self, app: App, record: Record, endpoints: Sequence[Endpoint] = ENDPOINTS) -> None:
        self.app = app
        self.record = record
        self.endpoints = {endpoint.name: endpoint for endpoint in endpoints}
        self._succeeded: set[str] = set()
        """The ids of successful writes that were not inspected yet."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        endpoint = self._endpoint(scope) if scope["type"] == "http" else None
        if endpoint is None:
            await self.app(scope, receive, send)
            return

        async def note(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._answered(endpoint, message["status"], message["headers"])
            await send(message)

        await self.app(scope, receive, note)

    def takes_socket(self, raw_path: bytes) -> bool:
        return self.app.takes_socket(raw_path)

    def _endpoint(self, scope: Any) -> Endpoint | None:
        raw_path = scope["raw_path"]
        if isinstance(self.app, DialectApp) and not in_own_words(scope):
            raw_path = self.app.own_path(raw_path)
        match = self.app.parts.router.match(scope["method"], raw_path)
        return match.endpoint if match else None

    def _answered(self, endpoint: Endpoint, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.record.answers.setdefault(endpoint.name, set()).add(status)
        if endpoint.writes and status < 300:
            self._succeeded.add(dict(headers)[b"x-request-id"].decode())

    def inspect(self) -> list[str]:
        """How the events of the writes since the last time differ from what their endpoints declare.

        Plans and repeated answers are not in the audit log, and so are not looked at.
        """
        if not self._succeeded:
            return []
        succeeded, self._succeeded = self._succeeded, set()
        try:
            with self.app.parts.performer.runtime.database.read() as db:
                written = [row for row in db.all(_WRITTEN) if row.request_id in succeeded]
                happened = {row.id: row for row in db.all(_HAPPENED)}
        except Problem:
            return []  # a test has taken the database away
        self._note_later_ones(written, happened)
        return sorted({wrong for writes in _by_request(written) for wrong in self._judge(writes, happened)})

    def _judge(self, writes: list[Written], happened: Mapping[int, Happened]) -> list[str]:
        """``writes`` are of one request: a write in two phases is on record twice."""
        endpoint = self.endpoints[writes[0].operation]
        ids = [number for row in writes for number in row.events]
        actions = {happened[number].action for number in ids if number in happened}  # old ones are pruned
        self.record.events.setdefault(endpoint.name, set()).update(actions)
        wrong = [f"{endpoint.name} left {action}, which it does not declare" for action in actions - {*endpoint.events}]
        if endpoint.events and not ids:
            self.record.unchanged.add(endpoint.name)
            if endpoint.name not in UNCHANGED:
                wrong.append(f"{endpoint.name} left none of {', '.join(endpoint.events)}")
        return wrong

    def _note_later_ones(self, written: list[Written], happened: Mapping[int, Happened]) -> None:
        """Declared events that came after the write, by an operation: in its account, and after what it wrote."""
        at_once = {number for row in written for number in row.events}
        later = [row for row in happened.values() if row.id not in at_once]
        for row in written:
            seen = self.record.events.setdefault(row.operation, set())
            missing = set(self.endpoints[row.operation].events) - seen
            if missing:
                since = min(row.events, default=0)
                mine = [other for other in later if other.account_id == row.account_id and other.id > since]
                seen.update(other.action for other in mine if other.action in missing)


def _by_request(written: list[Written]) -> Iterable[list[Written]]:
    requests: dict[str, list[Written]] = {}
    for row in written:
        requests.setdefault(row.request_id, []).append(row)
    return requests.values()


def unseen(record: Record, documented: Mapping[str, Set[int]], endpoints: Sequence[Endpoint] = ENDPOINTS) -> list[str]:
    """Return declared responses that never occurred, and undeclared ones that did."""
    wrong = []
    for endpoint in endpoints:
        name, answers = endpoint.name, record.answers.get(endpoint.name, set())
        refusals = {status for status in answers if status < 500}  # faults are forced by the sandbox, or planted
        wrong += [f"{name} never answered {status}" for status in sorted(documented[name] - answers)]
        wrong += [f"{name} answered {status}, undocumented" for status in sorted(refusals - documented[name])]
        left = record.events.get(name, set())
        wrong += [f"{name} never left {action}" for action in endpoint.events if action not in left]
    wrong += [
        f"{name} always left an event: it needs no exception" for name in UNCHANGED if name not in record.unchanged
    ]
    return wrong
