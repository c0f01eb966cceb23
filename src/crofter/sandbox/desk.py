"""What the sandbox door does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import func, select

from crofter import __version__, clock, mail
from crofter.context import World
from crofter.db import meta, query
from crofter.drivers.mail import Outbox
from crofter.engine.conductor import Conductor
from crofter.engine.tables import operation
from crofter.errors import Invalid
from crofter.journal import event
from crofter.resources.account.store import account
from crofter.resources.tags.store import tag
from crofter.resources.users import rules as users
from crofter.resources.users import store as people
from crofter.sandbox.faults import Faults
from crofter.sandbox.shapes import Advance, Anything, ClockView, Moved, NewAccount, NewToken, Settle

SCOPES = frozenset(
    "account databases domains events firewall images ips computes lke longview maintenance nodebalancers"
    " object_storage stackscripts volumes".split()
)
_COUNTED = {
    "accounts": account,
    "users": people.user,
    "tokens": people.token,
    "tags": tag,
    "events": event,
    "operations": operation,
}
_COUNTS = {name: query(select(func.count()).select_from(table)) for name, table in _COUNTED.items()}
TRANSITIONS = "transitions"
DEFAULT_TRANSITIONS: dict[str, Any] = {"*": {"seconds": 2}}


class Desk:
    def __init__(self, world: World, conductor: Conductor, faults: Faults, reset: Callable[[], None]) -> None:
        self.world = world
        self.conductor = conductor
        self.faults = faults
        self._reset = reset

    def state(self) -> dict[str, Any]:
        with self.world.database.read() as db:
            counts = {name: int(db.value(counted)) for name, counted in _COUNTS.items()}
        settings = self.world.settings
        return {
            "version": __version__,
            "mode": settings.mode,
            "driver": settings.driver,
            "database": self.world.database.dialect,
            "clock": self.clock(),
            "counts": counts,
        }

    def reset(self) -> None:
        self._reset()

    def open_account(self, body: NewAccount) -> users.Opened:
        username = body.username or f"user-{self.world.dice.hex(10)}"
        with self.world.database.write() as db:
            return users.open_account(
                self.world,
                db,
                username=username,
                email=body.email or f"{username}@example.com",
                managed=body.managed,
                public_ips=body.public_ips,
            )

    def issue_token(self, body: NewToken) -> dict[str, str]:
        scopes = _checked_scopes(body.scopes)
        with self.world.database.write() as db:
            user = db.maybe(people.BY_USERNAME, username=body.username)
            if user is None:
                raise Invalid("username is not valid", field="username")
            expiry = None
            if body.expires_in is not None:
                expiry = clock.text(self.world.clock.now() + int(body.expires_in * 1000))
            token = users.issue_token(self.world, db, user, label="sandbox", scopes=scopes, expiry=expiry)
        return {"token": token}

    def clock(self) -> ClockView:
        house = self.world.clock
        return ClockView(clock.text(house.now()), house.setting.mode)

    def freeze(self) -> ClockView:
        self.conductor.freeze()
        return self.clock()

    def thaw(self) -> ClockView:
        self.conductor.thaw()
        return self.clock()

    def advance(self, body: Advance) -> Moved:
        return self._moved(self.conductor.advance(body.seconds))

    def settle(self, body: Settle) -> Moved:
        return self._moved(self.conductor.settle(body.limit))

    def _moved(self, result: tuple[int, int]) -> Moved:
        return Moved(clock.text(result[0]), result[1])

    def transitions(self) -> Any:
        with self.world.database.read() as db:
            return meta.get(db, TRANSITIONS, DEFAULT_TRANSITIONS)

    def set_transitions(self, table: Anything) -> Any:
        for action, rule in table.items():
            _check_transition(action, rule)
        with self.world.database.write() as db:
            meta.put(db, TRANSITIONS, table)
        return self.transitions()

    def add_fault(self, raw: bytes) -> dict[str, int]:
        return {"id": self.faults.add(raw)}

    def list_faults(self) -> list[dict[str, Any]]:
        return self.faults.listed()

    def clear_faults(self) -> None:
        self.faults.clear()

    def outbox(self) -> dict[str, list[Any]]:
        mailer = mail.driver(self.world)
        return {"mails": mailer.mails() if isinstance(mailer, Outbox) else [], "webhooks": []}


def _checked_scopes(scopes: str) -> str:
    asked = scopes.replace(",", " ").split()
    for scope in asked:
        resource, _, level = scope.partition(":")
        if scope != "*" and not (resource in SCOPES and level in ("read_only", "read_write")):
            raise Invalid(f"{scope} is not a scope", field="scopes")
    if not asked:
        raise Invalid("scopes is required", field="scopes")
    return " ".join(asked)


def _check_transition(action: str, rule: Any) -> None:
    if not isinstance(rule, dict) or not rule or set(rule) - {"seconds", "fail"}:
        raise Invalid("Must have seconds, fail or both", field=action)
    seconds = rule.get("seconds", 0)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds < 0:
        raise Invalid("Must be a number of seconds, 0 or more", field=f"{action}.seconds")
    if not isinstance(rule.get("fail", ""), str):
        raise Invalid("Must be of type String", field=f"{action}.fail")
