"""Functions of the sandbox API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from crofter import __version__, clock
from crofter.context import Runtime
from crofter.db import query
from crofter.db.sql import func, select
from crofter.drivers.hypervisor.ledger.conditions import LONGEST_REASON, MOST_READS, YEAR
from crofter.drivers.hypervisor.simulated import SimulatedHypervisor, Transition
from crofter.drivers.mail import Outbox
from crofter.engine.tables import operation
from crofter.engine.time_travel import TimeTravel
from crofter.errors import Invalid
from crofter.events import event
from crofter.login.clock_shift import shift_sessions
from crofter.resources.account.store import account
from crofter.resources.billing import cards
from crofter.resources.tags.store import tag
from crofter.resources.users import rules as users
from crofter.resources.users import store as people
from crofter.sandbox.faults import Faults
from crofter.sandbox.shapes import (
    Advance,
    Anything,
    ClockView,
    Moved,
    NewAccount,
    NewSnapshot,
    NewToken,
    Settle,
    SnapshotView,
    TickView,
)
from crofter.sandbox.snapshots import SandboxSnapshots, checked
from crofter.scopes import parse

_COUNTED = {
    "accounts": account,
    "users": people.user,
    "tokens": people.token,
    "tags": tag,
    "events": event,
    "operations": operation,
}
_COUNTS = {name: query(select(func.count()).select_from(table)) for name, table in _COUNTED.items()}


class SandboxControl:
    def __init__(
        self,
        runtime: Runtime,
        time_travel: TimeTravel,
        faults: Faults,
        snapshots: SandboxSnapshots,
        reset: Callable[[], None],
    ) -> None:
        self.runtime = runtime
        self.snapshots = snapshots
        self.time_travel = time_travel
        self.faults = faults
        self._reset = reset

    def state(self) -> dict[str, Any]:
        with self.runtime.database.read() as db:
            counts = {name: int(db.value(counted)) for name, counted in _COUNTS.items()}
        settings = self.runtime.settings
        return {
            "version": __version__,
            "mode": settings.mode,
            "driver": settings.driver,
            "database": self.runtime.database.dialect,
            "clock": self.clock(),
            "counts": counts,
        }

    def reset(self) -> None:
        self._must_be_simulated("A reset")
        self._reset()

    def _must_be_simulated(self, what: str) -> None:
        """Refuse if real machines exist: a restored database would lose track of running machines."""
        if self.runtime.hypervisor.real_time:
            raise Invalid(f"{what} is for simulated machines only: real ones would be forgotten, and run on")

    def open_account(self, body: NewAccount) -> users.Opened:
        username = body.username or f"user-{self.runtime.rng.hex(10)}"
        with self.runtime.database.write() as db:
            opened = users.open_account(
                self.runtime,
                db,
                username=username,
                email=body.email or f"{username}@example.com",
                password=body.password,
                managed=body.managed,
                public_ips=body.public_ips,
            )
            cards.give(self.runtime, db, opened.euuid, body.card)
            return opened

    def issue_token(self, body: NewToken) -> dict[str, str]:
        scopes = _checked_scopes(body.scopes)
        with self.runtime.database.write() as db:
            user = db.maybe(people.BY_USERNAME, username=body.username)
            if user is None:
                raise Invalid("username is not valid", field="username")
            expiry = None
            if body.expires_in is not None:
                expiry = clock.text(self.runtime.clock.now() + int(body.expires_in * 1000))
            token = users.issue_token(self.runtime, db, user, label="sandbox", scopes=scopes, expiry=expiry)
        return {"token": token}

    def clock(self) -> ClockView:
        application = self.runtime.clock
        return ClockView(clock.text(application.now()), application.setting.mode)

    def freeze(self) -> ClockView:
        self.time_travel.freeze()
        return self.clock()

    def thaw(self) -> ClockView:
        self.time_travel.thaw()
        return self.clock()

    def advance(self, body: Advance) -> Moved:
        # Before the clock moves: on the way old sessions are swept.
        self._shift_sessions(int(body.seconds * clock.SECOND))
        return self._moved(self.time_travel.advance(body.seconds))

    def tick(self) -> TickView:
        before = self.runtime.clock.now()
        ticked = self.time_travel.tick()
        self._shift_sessions(self.runtime.clock.now() - before)
        return TickView(clock.text(self.runtime.clock.now()), ticked)

    def settle(self, body: Settle) -> Moved:
        before = self.runtime.clock.now()
        moved = self.time_travel.settle(body.limit)
        self._shift_sessions(moved[0] - before)
        return self._moved(moved)

    def _shift_sessions(self, milliseconds: int) -> None:
        if milliseconds >= clock.SECOND:  # short shifts need no write for the console's sessions
            with self.runtime.database.write() as db:
                shift_sessions(db, milliseconds)

    def _moved(self, result: tuple[int, int]) -> Moved:
        return Moved(clock.text(result[0]), result[1])

    def list_snapshots(self) -> dict[str, list[SnapshotView]]:
        return {"snapshots": self.snapshots.all()}

    def take_snapshot(self, body: NewSnapshot) -> SnapshotView:
        return self.snapshots.take(checked(body.name))

    def restore_snapshot(self, name: str) -> ClockView:
        self._must_be_simulated("Restoring a snapshot")
        self.snapshots.restore(checked(name))
        return self.clock()

    def delete_snapshot(self, name: str) -> None:
        self.snapshots.delete(checked(name))

    def transitions(self) -> Any:
        return self._simulated().transitions()

    def set_transitions(self, table: Anything) -> Any:
        checked = {action: _transition(action, rule) for action, rule in table.items()}
        return self._simulated().set_transitions(checked)

    def _simulated(self) -> SimulatedHypervisor:
        driver = self.runtime.hypervisor
        if not isinstance(driver, SimulatedHypervisor):
            raise Invalid("Only the simulated hypervisor has transitions")
        return driver

    def add_fault(self, raw: bytes) -> dict[str, int]:
        return {"id": self.faults.add(raw)}

    def list_faults(self) -> list[dict[str, Any]]:
        return self.faults.listed()

    def clear_faults(self) -> None:
        self.faults.clear()

    def outbox(self) -> dict[str, list[Any]]:
        mailer = self.runtime.mailer
        return {"mails": mailer.mails() if isinstance(mailer, Outbox) else [], "webhooks": []}


def _checked_scopes(scopes: str) -> str:
    try:
        asked = parse(scopes)
    except ValueError as strange:
        raise Invalid(f"{strange} is not a scope", field="scopes") from None
    if not asked:
        raise Invalid("scopes is required", field="scopes")
    return " ".join(asked)


def _transition(action: str, rule: Any) -> Transition:
    if not isinstance(rule, dict) or not rule or set(rule) - set(Transition.__struct_fields__):
        raise Invalid("Must have seconds or reads, fail, or both; fail_at where it fails on the way", field=action)
    try:
        transition = msgspec.convert(rule, Transition)
    except msgspec.ValidationError:
        words = f"seconds must be 0-{YEAR}, reads 1-{MOST_READS}, fail_at 0-100, fail a text of 1-{LONGEST_REASON}"
        raise Invalid(f"{words} characters", field=action) from None
    if transition.reads is not None and transition.seconds is not None:
        raise Invalid("Must have seconds or reads, not both", field=action)
    if transition.fail_at is not None and (transition.fail is None or transition.seconds is None):
        raise Invalid("fail_at needs fail and seconds", field=action)
    return transition
