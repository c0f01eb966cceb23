"""History of a year from its events: objects, prices and periods of each account.

Independent of the meters and of their code.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from crofter import catalogue
from crofter.clock import DAY, HOUR
from tests.resources.money import moment
from tests.year.clouds import sent
from tests.year.life import Event, Log

ADDRESS, MANAGED, BALANCER = (1_500, 1_000_000), (150_000, 100_000_000), (15_000, 10_000_000)
GIGABYTE_OF_VOLUME = (150, 100_000)


def _files(name: str) -> dict[str, dict[str, Any]]:
    text = (Path(catalogue.__file__).parent / f"{name}.toml").read_text()
    return {entry["id"]: entry for entry in tomllib.loads(text, parse_float=Decimal)[name]}


TYPES, TAXES, PROMOTIONS = _files("types"), _files("taxes"), _files("promotions")


def micros(amount: Any) -> int:
    return int(Decimal(amount) * 1_000_000)


def month(at: int) -> str:
    return _month_of_day(at // DAY)


@cache
def _month_of_day(day: int) -> str:
    return datetime.fromtimestamp(day * DAY / 1000, UTC).strftime("%Y-%m")


def first_of(text: str) -> int:
    return moment(f"{text}-01T00:00:00")


# events


class Fact(NamedTuple):
    at: int
    what: str
    account: int
    number: int
    detail: Any = None


ACTIONS = {
    "compute_create": "created",
    "compute_delete": "deleted",
    "backups_enable": "backed up",
    "backups_cancel": "backed up no more",
    "compute_addip": "address",
    "compute_deleteip": "address less",
    "managed_enabled": "managed",
}


def facts(log: Log) -> list[Fact]:
    """Return the facts of the events in order of time."""
    all_facts: list[Fact] = []
    plans = {number: iter(asked[1:]) for number, asked in log.plans.items()}
    for event in sorted(log.events.values()):
        if event.action == "compute_resize":
            plan = next(plans[int(event.entity or 0)])
            if event.status == "finished" and event.finished:
                all_facts.append(Fact(event.finished, "resized", event.account, int(event.entity or 0), plan))
        elif event.action in ACTIONS:
            assert event.status != "failed", event
            all_facts.append(Fact(moment(event.created), ACTIONS[event.action], event.account, int(event.entity or 0)))
    all_facts += _moves(log)
    all_facts += [Fact(change.at, change.what, change.account, change.number, change.size) for change in log.made]
    return sorted(all_facts, key=lambda fact: fact.at)


def _moves(log: Log) -> Iterator[Fact]:
    """Yield the moves of transfers: the receiver's event names the account, the transfer itself the time."""
    for token, (status, ended) in log.ended.items():
        events: list[Event] = [event for event in log.events.values() if event.entity == f'"{token}"']
        sender = next(event.account for event in events if event.action == "entity_transfer_create")
        for event in events:
            if event.action == "entity_transfer_accept" and event.account != sender and status == "completed":
                for number in log.contents[token]:
                    yield Fact(moment(ended), "moved", event.account, number)


# costs


@dataclass
class PricedPeriod:
    """A period of an object at a fixed price for an account."""

    account: int
    what: str
    number: int
    price: tuple[int, int]
    made: int
    began: int
    """Later than it was made, if an hour of another price had begun."""
    chain: int
    gives: int = 0
    """Gigabytes of traffic in a month."""
    ended: int | None = None

    def next_hour(self, at: int) -> int:
        return self.began + max(0, -(-(at - self.began) // HOUR)) * HOUR


@dataclass
class History:
    """All periods of a year, and the traffic of instances at their departure."""

    every: list[PricedPeriod] = field(default_factory=list)
    managed: set[int] = field(default_factory=set)
    placed: set[int] = field(default_factory=set)
    left: Counter[tuple[int, str]] = field(default_factory=Counter)
    plan: dict[int, str] = field(default_factory=dict)

    def running(self, what: str | None, number: int) -> list[PricedPeriod]:
        return [
            period
            for period in self.every
            if period.ended is None and period.number == number and what in (None, period.what)
        ]

    def start(self, account: int, what: str, number: int, price: tuple[int, int], at: int, gives: int = 0) -> None:
        self.every.append(PricedPeriod(account, what, number, price, at, at, len(self.every), gives))

    def follow(self, old: PricedPeriod, at: int, **changes: Any) -> None:
        """The hour that has begun is paid as it began."""
        old.ended = at
        self.every.append(replace(old, made=at, began=old.next_hour(at), ended=None, **changes))

    def leave(self, number: int, at: int) -> None:
        machine = self.running("compute", number)[0]
        own = [period for period in self.every if (period.what, period.number) == ("compute", number)]
        stay = own[-1]
        for period in reversed(own):
            if period.account != machine.account:
                break
            stay = period
        self.left[machine.account, month(at)] += self.sent(number, max(stay.began, first_of(month(at))), at)

    def sent(self, number: int, start: int, stop: int) -> int:
        return sent(number, start, stop) if number in self.placed else 0


def history_of(log: Log) -> History:
    history = History(placed=log.placed)
    for fact in facts(log):
        _APPLY[fact.what](history, log, fact)
    return history


def _plan(name: str) -> tuple[int, int]:
    price = TYPES[name]["price"]
    return micros(price["hourly"]), micros(price["monthly"])


def _saving(name: str) -> tuple[int, int]:
    price = TYPES[name]["backups"]
    return micros(price["hourly"]), micros(price["monthly"])


def _created(history: History, log: Log, fact: Fact) -> None:
    name = history.plan[fact.number] = log.plans[fact.number][0]
    history.start(fact.account, "compute", fact.number, _plan(name), fact.at, TYPES[name]["transfer"])
    if fact.number in log.backed_up:
        history.start(fact.account, "backup", fact.number, _saving(name), fact.at)
    if fact.account in history.managed:
        history.start(fact.account, "managed", fact.number, MANAGED, fact.at)


def _resized(history: History, _log: Log, fact: Fact) -> None:
    name = history.plan[fact.number] = fact.detail
    for period in history.running("compute", fact.number):
        history.follow(period, fact.at, price=_plan(name), gives=TYPES[name]["transfer"])
    for period in history.running("backup", fact.number):
        history.follow(period, fact.at, price=_saving(name))


def _backed_up(history: History, _log: Log, fact: Fact) -> None:
    history.start(fact.account, "backup", fact.number, _saving(history.plan[fact.number]), fact.at)


def _stopped(what: str) -> Any:
    def apply(history: History, _log: Log, fact: Fact) -> None:
        history.running(what, fact.number)[-1].ended = fact.at

    return apply


def _address(history: History, _log: Log, fact: Fact) -> None:
    history.start(fact.account, "ip", fact.number, ADDRESS, fact.at)


def _managed(history: History, _log: Log, fact: Fact) -> None:
    history.managed.add(fact.account)
    for period in [other for other in history.every if other.what == "compute" and other.ended is None]:
        if period.account == fact.account:
            history.start(fact.account, "managed", period.number, MANAGED, fact.at)


def _moved(history: History, _log: Log, fact: Fact) -> None:
    history.leave(fact.number, fact.at)
    for period in history.running("managed", fact.number):
        period.ended = fact.at
    for period in history.running(None, fact.number):
        if period.what in ("compute", "backup", "ip"):
            history.follow(period, fact.at, account=fact.account)
    if fact.account in history.managed:
        history.start(fact.account, "managed", fact.number, MANAGED, fact.at)


def _deleted(history: History, _log: Log, fact: Fact) -> None:
    history.leave(fact.number, fact.at)
    for period in history.running(None, fact.number):
        if period.what in ("compute", "backup", "ip", "managed"):
            period.ended = fact.at


def _volume(history: History, _log: Log, fact: Fact) -> None:
    hourly, monthly = GIGABYTE_OF_VOLUME
    price = (hourly * fact.detail, monthly * fact.detail)
    known = history.running("volume", fact.number)
    if not known:
        history.start(fact.account, "volume", fact.number, price, fact.at)
    elif fact.detail:
        history.follow(known[0], fact.at, price=price)
    else:
        known[0].ended = fact.at


def _balancer(history: History, _log: Log, fact: Fact) -> None:
    if fact.detail:
        history.start(fact.account, "nodebalancer", fact.number, BALANCER, fact.at)
    else:
        history.running("nodebalancer", fact.number)[0].ended = fact.at


_APPLY = {
    "created": _created,
    "resized": _resized,
    "deleted": _deleted,
    "backed up": _backed_up,
    "backed up no more": _stopped("backup"),
    "address": _address,
    "address less": _stopped("ip"),
    "managed": _managed,
    "moved": _moved,
    "volume": _volume,
    "nodebalancer": _balancer,
}
