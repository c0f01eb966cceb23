"""Tools for the checks of a payment gateway: connections, cards, an interruptible wire, and the bank's ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol

from crofter.db import Database
from crofter.drivers.payments import Card, Gateway, InDoubt, Outcome, SimulatedGateway, Staged

Loss = Literal["request", "answer"]


class Bank(Protocol):
    """A gateway under test. One for a real gateway speaks to its test system."""

    good: Card
    bad: Card
    payer: str
    unwilling_payer: str

    def connect(self) -> Gateway:
        """A driver as a process has it that has just started."""

    def moved(self, customer: str) -> list[int]:
        """Cents that were really taken from a customer, by the bank's own books; in any order."""

    def losing(self, what: Loss) -> AbstractContextManager[None]:
        """Lose requests or responses of the drivers during the block."""


class Wired(SimulatedGateway):
    """The simulated gateway, behind a wire."""

    def __init__(self, database: Database, wire: Wire) -> None:
        super().__init__(database)
        self._wire = wire

    def find(self, key: str) -> Outcome | None:
        self._wire.carry("request")
        outcome = super().find(key)
        self._wire.carry("answer")
        return outcome

    def stage(self, key: str, customer: str, cents: int, redirect_url: str, cancel_url: str) -> Staged:
        self._wire.carry("request")
        prepared = super().stage(key, customer, cents, redirect_url, cancel_url)
        self._wire.carry("answer")
        return prepared

    def _once(self, key: str, *, customer: str, token: str, cents: int, payment_id: str | None = None) -> Outcome:
        self._wire.carry("request")
        outcome = super()._once(key, customer=customer, token=token, cents=cents, payment_id=payment_id)
        self._wire.carry("answer")
        return outcome


class Wire:
    def __init__(self) -> None:
        self.loses: Loss | None = None

    def carry(self, what: Loss) -> None:
        if self.loses == what:
            raise InDoubt


class SimulatedBank:
    good = Card("4111111111111111", "123", 12, 2099)
    bad = Card("4000000000000002", "123", 12, 2099)
    payer, unwilling_payer = "GX7Y2", "DECLINED7"

    def __init__(self, database: Database, driver: type[Wired] = Wired) -> None:
        self._database, self._driver, self._wire = database, driver, Wire()

    def connect(self) -> Gateway:
        return self._driver(self._database, self._wire)

    def moved(self, customer: str) -> list[int]:
        with self._database.read() as db:
            mark = "?" if db.dialect == "sqlite" else "%s"
            sql = f"SELECT cents FROM simulated_charge WHERE paid = TRUE AND customer = {mark}"
            return [int(cents) for (cents,) in db.raw(sql, (customer,)).fetchall()]

    @contextmanager
    def losing(self, what: Loss) -> Iterator[None]:
        self._wire.loses = what
        try:
            yield
        finally:
            self._wire.loses = None
