"""The books: meters that run, invoices, cards and payments, and a ledger whose every entry sums to zero."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ForeignKey, Index, Integer, Text, UniqueConstraint, bindparam, func, select

from crofter.context import Context
from crofter.db import Flag, Id, Json, Moment, Row, Session, Time, identity, owned, query, table

# Something that costs money by the hour, from when it began to when it ended.
meter = table(
    "meter",
    identity(),
    owned(),
    Column("what", Text, nullable=False),  # compute, backup, ip, volume, nodebalancer, managed
    Column("object_id", Id, nullable=False),
    Column("label", Text, nullable=False),
    Column("hourly", Id, nullable=False),  # micro-dollars
    Column("monthly", Id, nullable=False),  # the most that a month may cost
    Column("began", Time, nullable=False),
    Column("ended", Time),
    Column("billed_hours", Integer, nullable=False),
    Column("billed_until", Time, nullable=False),
    Column("month", Text, nullable=False),  # the month that the next number is of
    Column("month_amount", Id, nullable=False),
    Index("ix_meter_account_id", "account_id", "ended"),
    Index("ix_meter_object", "what", "object_id"),
)
invoice = table(
    "invoice",
    identity(),
    owned(),
    Column("date", Moment, nullable=False),
    Column("period", Text, nullable=False),
    Column("subtotal", Id, nullable=False),
    Column("tax", Id, nullable=False),
    Column("total", Id, nullable=False),
    Column("address", Json, nullable=False),
    UniqueConstraint("account_id", "period"),
    Index("ix_invoice_account_id", "account_id", "id"),
)
invoice_item = table(
    "invoice_item",
    identity(),
    Column("invoice_id", Id, ForeignKey("invoice.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("label", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("unit_price", Id, nullable=False),
    Column("quantity", Integer, nullable=False),
    Column("amount", Id, nullable=False),
    Column("tax", Id, nullable=False),
    Column("total", Id, nullable=False),
    Column("from_", Moment, nullable=False),
    Column("to_", Moment, nullable=False),
)
payment_method = table(
    "payment_method",
    identity(),
    owned(index=True),
    Column("type", Text, nullable=False),
    Column("is_default", Flag, nullable=False),
    Column("token", Text, nullable=False),
    Column("card_type", Text, nullable=False),
    Column("last_four", Text, nullable=False),
    Column("expiry", Text, nullable=False),
    Column("created", Moment, nullable=False),
)
payment = table(
    "payment",
    identity(),
    owned(),
    Column("date", Moment, nullable=False),
    Column("amount", Id, nullable=False),
    Column("reference", Text, nullable=False, unique=True),
    Index("ix_payment_account_id", "account_id", "id"),
)
# Money that is being asked for. Written down before the gateway is called, so that an answer can be looked up.
charge = table(
    "charge",
    Column("key", Text, primary_key=True),
    owned(index=True),
    Column("method_id", Id, nullable=False),
    Column("amount", Id, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("status", Text, nullable=False),  # pending, paid, declined
    Column("created", Moment, nullable=False),
)
ledger = table(
    "ledger",
    identity(),
    owned(),
    Column("entry", Text, nullable=False),  # invoice:12, payment:7
    Column("book", Text, nullable=False),  # owed, revenue, tax, bank
    Column("amount", Id, nullable=False),
    Column("at", Moment, nullable=False),
    UniqueConstraint("entry", "book"),
    Index("ix_ledger_account_id", "account_id", "book"),
)


class Meter(Row):
    id: int
    account_id: int
    what: str
    object_id: int
    label: str
    hourly: int
    monthly: int
    began: int
    ended: int | None
    billed_hours: int
    billed_until: int
    month: str
    month_amount: int


class Method(Row):
    id: int
    account_id: int
    type: str
    is_default: bool
    token: str
    card_type: str
    last_four: str
    expiry: str
    created: str


_BALANCE = query(
    select(func.coalesce(func.sum(ledger.c.amount), 0)).where(
        ledger.c.account_id == bindparam("account_id"), ledger.c.book == "owed"
    )
)
_METERS = select(meter)
_OPEN = query(
    _METERS.where(
        meter.c.account_id == bindparam("account_id"),
        meter.c.ended.is_(None) | (meter.c.billed_until < meter.c.ended),
    ).order_by(meter.c.id),
    Meter,
)
_RUNNING = query(
    _METERS.where(
        meter.c.what == bindparam("what"), meter.c.object_id == bindparam("object_id"), meter.c.ended.is_(None)
    ).order_by(meter.c.id),
    Meter,
)
_METHODS = select(payment_method).where(payment_method.c.account_id == bindparam("account_id"))
_METHOD = query(_METHODS.where(payment_method.c.id == bindparam("id")), Method)
_ALL_METHODS = query(_METHODS.order_by(payment_method.c.id), Method)
_DEFAULT = query(_METHODS.where(payment_method.c.is_default.is_(True)), Method)
METHODS = _METHODS


def balance(db: Session, account_id: int) -> int:
    """Micro-dollars that the account owes; below zero, what it has in hand."""
    return int(db.value(_BALANCE, account_id=account_id))


def book(db: Session, account_id: int, entry: str, at: str, legs: dict[str, int]) -> None:
    """Write an entry of the ledger. Its legs sum to zero, and it is written once."""
    if sum(legs.values()) != 0:
        raise ValueError(f"{entry}: the legs do not sum to zero")
    for name, amount in legs.items():
        db.insert(ledger, account_id=account_id, entry=entry, book=name, amount=amount, at=at)


def unbilled(db: Session, account_id: int) -> list[Meter]:
    """Meters that run, or that ended with something left to bill."""
    return db.all(_OPEN, account_id=account_id)


def running(db: Session, what: str, object_id: int) -> list[Meter]:
    return db.all(_RUNNING, what=what, object_id=object_id)


def method(ctx: Context, payment_method_id: int) -> Method:
    return ctx.db.one(_METHOD, account_id=ctx.account_id, id=payment_method_id)


def find_method(ctx: Context, method_id: int) -> Method | None:
    return ctx.db.maybe(_METHOD, account_id=ctx.account_id, id=method_id)


def methods(ctx: Context) -> list[Method]:
    return ctx.db.all(_ALL_METHODS, account_id=ctx.account_id)


def default_method(db: Session, account_id: int) -> Method | None:
    return db.maybe(_DEFAULT, account_id=account_id)


def new_meter(db: Session, values: dict[str, Any]) -> int:
    return db.insert(meter, **values)
