"""The books: meters that run, invoices, cards and payments, and a ledger whose every entry sums to zero."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    bindparam,
    case,
    func,
    or_,
    select,
    update,
)

from crofter.context import Context
from crofter.db import Flag, Id, Json, Moment, Row, Session, Time, identity, owned, query, table

# Something that costs money by the hour, from when it began to when it ended. Nothing else is ever changed of a meter
# but its label, and up to when it was billed: what it has come to is worked out anew each time.
meter = table(
    "meter",
    identity(),
    owned(),
    Column("chain", Id),  # the first of several meters that one object had in turn; null of that first one
    Column("what", Text, nullable=False),  # compute, backup, ip, managed, volume, nodebalancer
    Column("object_id", Id, nullable=False),
    Column("label", Text, nullable=False),
    Column("hourly", Id, nullable=False),  # micro-dollars
    Column("monthly", Id, nullable=False),  # the most that a month may cost
    Column("transfer", Integer, nullable=False),  # gigabytes of traffic that a month of it gives
    Column("began", Time, nullable=False),
    Column("ended", Time),
    Column("billed_until", Time, nullable=False),
    Index("ix_meter_account_id", "account_id", "ended"),
    Index("ix_meter_object", "what", "object_id"),
)
# Traffic of instances that left the account, by deletion or transfer: nobody can be asked for it any more.
traffic = table(
    "traffic",
    identity(),
    owned(),
    Column("month", Text, nullable=False),
    Column("object_id", Id, nullable=False),
    Column("bytes", Id, nullable=False),
    Index("ix_traffic_account_id", "account_id", "month"),
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
    Column("what", Text, nullable=False),  # as of a meter; transfer, credit
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
    Column("token", Text, nullable=False),  # the gateway's name for the card; the house knows no other
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
    Column("token", Text, nullable=False),
    Column("amount", Id, nullable=False),
    Column("status", Text, nullable=False),  # pending, paid, declined
    Column("payment_id", Id),
    Column("created", Time, nullable=False),
)
ledger = table(
    "ledger",
    identity(),
    owned(),
    Column("entry", Text, nullable=False),  # invoice:12, payment:7
    Column("book", Text, nullable=False),  # owed, revenue, promotion, tax, bank
    Column("amount", Id, nullable=False),
    Column("at", Moment, nullable=False),
    UniqueConstraint("entry", "book"),
    Index("ix_ledger_account_id", "account_id", "book"),
)


class Meter(Row):
    id: int
    account_id: int
    chain: int | None
    what: str
    object_id: int
    label: str
    hourly: int
    monthly: int
    transfer: int
    began: int
    ended: int | None
    billed_until: int


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
_OF_ACCOUNT = meter.c.account_id == bindparam("account_id")
_UNBILLED = or_(meter.c.ended.is_(None), meter.c.billed_until < meter.c.ended)
_OLDEST = query(select(func.min(meter.c.billed_until)).where(_OF_ACCOUNT, _UNBILLED))
_SINCE = query(
    _METERS.where(_OF_ACCOUNT, or_(meter.c.ended.is_(None), meter.c.ended > bindparam("since"))).order_by(meter.c.id),
    Meter,
)
_RUNNING = query(
    _METERS.where(
        meter.c.what == bindparam("what"), meter.c.object_id == bindparam("object_id"), meter.c.ended.is_(None)
    ).order_by(meter.c.id),
    Meter,
)
_BILLED = query(
    update(meter)
    .where(_OF_ACCOUNT, _UNBILLED, meter.c.billed_until < bindparam("until"))
    .values(billed_until=case((meter.c.ended < bindparam("until"), meter.c.ended), else_=bindparam("until")))
)
_STOP_ALL = query(update(meter).where(_OF_ACCOUNT, meter.c.ended.is_(None)).values(ended=bindparam("at")))
_STOP_KIND = query(
    update(meter)
    .where(_OF_ACCOUNT, meter.c.what == bindparam("kind"), meter.c.ended.is_(None))
    .values(ended=bindparam("at"))
)
_RATES = query(
    select(func.coalesce(func.sum(meter.c.hourly), 0), func.coalesce(func.sum(meter.c.monthly), 0)).where(
        _OF_ACCOUNT, meter.c.ended.is_(None)
    ),
    lambda hourly, monthly: (int(hourly), int(monthly)),
)
BILLABLE = query(
    select(meter.c.account_id)
    .where(_UNBILLED, meter.c.account_id > bindparam("after"))
    .distinct()
    .order_by(meter.c.account_id)
    .limit(bindparam("most"))
)
"""Accounts that used something which no invoice has yet."""
_TRAFFIC = query(
    select(func.coalesce(func.sum(traffic.c.bytes), 0)).where(
        traffic.c.account_id == bindparam("account_id"), traffic.c.month == bindparam("month")
    )
)
_SAME_MONTH = query(
    select(func.count()).where(
        invoice.c.account_id == bindparam("account_id"), invoice.c.period.like(bindparam("pattern"))
    )
)
_OVERAGE_BILLED = query(
    select(func.coalesce(func.sum(invoice_item.c.quantity), 0))
    .join_from(invoice_item, invoice, invoice.c.id == invoice_item.c.invoice_id)
    .where(
        invoice.c.account_id == bindparam("account_id"),
        invoice_item.c.what == "transfer",
        invoice_item.c.from_ == bindparam("month_start"),
    )
)
_METHODS = select(payment_method).where(payment_method.c.account_id == bindparam("account_id"))
_METHOD = query(_METHODS.where(payment_method.c.id == bindparam("id")), Method)
_COUNT_METHODS = query(
    select(func.count()).select_from(payment_method).where(payment_method.c.account_id == bindparam("account_id"))
)
_DEFAULT = query(_METHODS.where(payment_method.c.is_default.is_(True)), Method)
METHODS = _METHODS


# ---- the ledger -----------------------------------------------------------------------------------------------------


def balance(db: Session, account_id: int) -> int:
    """Micro-dollars that the account owes; below zero, what it has in hand."""
    return int(db.value(_BALANCE, account_id=account_id))


def book(db: Session, account_id: int, entry: str, at: str, legs: dict[str, int]) -> None:
    """Write an entry of the ledger. Its legs sum to zero, and it is written once."""
    if sum(legs.values()) != 0:
        raise ValueError(f"{entry}: the legs do not sum to zero")
    for name, amount in legs.items():
        if amount:
            db.insert(ledger, account_id=account_id, entry=entry, book=name, amount=amount, at=at)


# ---- meters ---------------------------------------------------------------------------------------------------------


def oldest_unbilled(db: Session, account_id: int) -> int | None:
    """From when on there is something that no invoice has."""
    found: int | None = db.value(_OLDEST, account_id=account_id)
    return found


def meters(db: Session, account_id: int, since: int) -> list[Meter]:
    """Meters of the account that ran at any time after ``since``, oldest first."""
    return db.all(_SINCE, account_id=account_id, since=since)


def running(db: Session, what: str, object_id: int) -> list[Meter]:
    return db.all(_RUNNING, what=what, object_id=object_id)


def mark_billed(db: Session, account_id: int, until: int) -> None:
    db.run(_BILLED, account_id=account_id, until=until)


def stop_all(db: Session, account_id: int, at: int) -> None:
    db.run(_STOP_ALL, account_id=account_id, at=at)


def stop_kind(db: Session, account_id: int, what: str, at: int) -> None:
    db.run(_STOP_KIND, account_id=account_id, kind=what, at=at)


def rates(db: Session, account_id: int) -> tuple[int, int]:
    """Micro-dollars by the hour, and at most by the month, of all that runs."""
    return db.one(_RATES, account_id=account_id)


def traffic_of_the_gone(db: Session, account_id: int, month: str) -> int:
    return int(db.value(_TRAFFIC, account_id=account_id, month=month))


# ---- invoices and cards ---------------------------------------------------------------------------------------------


def extra_invoices(db: Session, account_id: int, month: str) -> int:
    """How many invoices of this month did not wait for its end."""
    return int(db.value(_SAME_MONTH, account_id=account_id, pattern=f"{month}#%"))


def overage_billed(db: Session, account_id: int, month_start: str) -> int:
    """Gigabytes of this month's traffic that an invoice has already."""
    return int(db.value(_OVERAGE_BILLED, account_id=account_id, month_start=month_start))


def method(ctx: Context, payment_method_id: int) -> Method:
    return ctx.db.one(_METHOD, account_id=ctx.account_id, id=payment_method_id)


def find_method(ctx: Context, method_id: int) -> Method | None:
    return ctx.db.maybe(_METHOD, account_id=ctx.account_id, id=method_id)


def count_methods(ctx: Context) -> int:
    return int(ctx.db.value(_COUNT_METHODS, account_id=ctx.account_id))


def default_method(db: Session, account_id: int) -> Method | None:
    return db.maybe(_DEFAULT, account_id=account_id)
