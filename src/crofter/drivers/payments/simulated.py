"""Simulated gateway that moves no money: some card numbers are declined, and the next charges can be made to fail."""

from __future__ import annotations

from contextlib import suppress

from crofter.db import Database, Duplicate, Flag, Id, Row, Session, query, table
from crofter.db.sql import Column, Integer, Text, bindparam, select
from crofter.drivers.payments.contract import Card, KeptCard, Outcome, Staged

DECLINED_NUMBERS = ("4000000000000002", "4000000000009995")
DECLINED = "sim_declined_"
GOOD = "sim_card_"
UNWILLING = "DECLINED"
"""How payers are called who approve nothing."""
_BRANDS = (
    ("American Express", ((34, 34), (37, 37))),
    ("Discover", ((6011, 6011), (644, 649), (65, 65))),
    ("JCB", ((3528, 3589),)),
    ("MasterCard", ((51, 55), (2221, 2720))),
    ("Visa", ((4, 4),)),
)
"""Issuers of cards, with the range of their first digits."""

charge = table(
    "simulated_charge",
    Column("key", Text, primary_key=True),
    Column("customer", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("cents", Id, nullable=False),
    Column("paid", Flag, nullable=False),
)
staged = table(
    "simulated_staged",
    Column("payment_id", Text, primary_key=True),
    Column("customer", Text, nullable=False),
    Column("cents", Id, nullable=False),
    Column("executed", Text),  # under which key
)
decline = table(
    "simulated_decline",
    Column("customer", Text, primary_key=True),
    Column("times", Integer, nullable=False),
)


class _Charge(Row):
    key: str
    paid: bool


class _Staged(Row):
    customer: str
    cents: int
    executed: str | None


_STAGED = query(
    select(staged.c.customer, staged.c.cents, staged.c.executed)
    .where(staged.c.payment_id == bindparam("payment_id"))
    .with_for_update(),
    _Staged,
)
_FIND = query(select(charge.c.key, charge.c.paid).where(charge.c.key == bindparam("key")), _Charge)
_DECLINES = query(select(decline.c.times).where(decline.c.customer == bindparam("customer")).with_for_update())


def brand(number: str) -> str:
    return next((name for name, spans in _BRANDS if any(_begins(number, *span) for span in spans)), "Unknown")


def _begins(number: str, first: int, last: int) -> bool:
    return first <= int(number[: len(str(first))]) <= last


class SimulatedGateway:
    takes_payments = True

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, card: Card, key: str) -> KeptCard:
        token = (DECLINED if card.number in DECLINED_NUMBERS else GOOD) + key
        expiry = f"{card.expiry_month:02}/{card.expiry_year}"
        return KeptCard(token, brand(card.number), card.number[-4:], expiry)

    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        return self._once(key, customer=customer, token=token, cents=cents)

    def stage(self, key: str, customer: str, cents: int, redirect_url: str, cancel_url: str) -> Staged:
        prepared = Staged(f"PAY-{key.upper()}", f"EC-{key[:17].upper()}")
        with suppress(Duplicate), self._database.write() as db:
            db.insert(staged, payment_id=prepared.payment_id, customer=customer, cents=cents)
        return prepared

    def execute(self, key: str, customer: str, payment_id: str, payer_id: str, cents: int) -> Outcome:
        token = (DECLINED if payer_id.startswith(UNWILLING) else GOOD) + payer_id
        return self._once(key, customer=customer, token=token, cents=cents, payment_id=payment_id)

    def find(self, key: str) -> Outcome | None:
        with self._database.read() as db:
            known = db.maybe(_FIND, key=key)
        return None if known is None else _outcome(known)

    def call_off(self, key: str) -> Outcome:
        return self._once(key, customer="", token=DECLINED, cents=0)

    def _once(self, key: str, *, customer: str, token: str, cents: int, payment_id: str | None = None) -> Outcome:
        while True:
            try:
                with self._database.write() as db:
                    known = db.maybe(_FIND, key=key)
                    if known is None:
                        paid = not token.startswith(DECLINED) and not self._told_to_fail(db, customer)
                        if paid and payment_id is not None:
                            paid = self._claim(db, payment_id, key, customer, cents)
                        db.insert(charge, key=key, customer=customer, token=token, cents=cents, paid=paid)
                        known = _Charge(key, paid)
                return _outcome(known)
            except Duplicate:
                continue  # a concurrent request inserted the same row

    def _claim(self, db: Session, payment_id: str, key: str, customer: str, cents: int) -> bool:
        """True if the charge may take the staged payment: not taken, and the same values."""
        kept = db.maybe(_STAGED, payment_id=payment_id)
        if kept != _Staged(customer, cents, None):
            return False
        return db.update(staged, {"payment_id": payment_id}, executed=key) > 0

    def _told_to_fail(self, db: Session, customer: str) -> bool:
        times = int(db.value(_DECLINES, customer=customer) or 0)
        if times:
            db.update(decline, {"customer": customer}, times=times - 1)
        return times > 0

    def decline_next(self, customer: str, times: int) -> None:
        """Decline the next charges of this customer."""
        with self._database.write() as db:
            if not db.update(decline, {"customer": customer}, times=times):
                db.insert(decline, customer=customer, times=times)

    def clear_faults(self) -> None:
        with self._database.write() as db:
            db.raw("DELETE FROM simulated_decline")


def _outcome(known: _Charge) -> Outcome:
    return Outcome(known.paid, None if known.paid else "The payment was declined.")
