"""Tables of billing: invoices, cards and payments, and a ledger whose every entry sums to zero."""

from __future__ import annotations

from crofter.context import Context
from crofter.db import Flag, Id, Json, Moment, Row, Session, Time, identity, owned, query, table
from crofter.db.sql import (
    Column,
    ForeignKey,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    bindparam,
    func,
    select,
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
    Column("seller", Text, nullable=False),
    UniqueConstraint("account_id", "period"),
    Index("ix_invoice_account_id", "account_id", "id"),
)
invoice_item = table(
    "invoice_item",
    identity(),
    Column("invoice_id", Id, ForeignKey("invoice.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("what", Text, nullable=False),  # kind of a meter; transfer, credit
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
    Column("token", Text, nullable=False),  # the gateway's name for the card; the server knows no other
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
# Charges in progress. Stored before the gateway is called, so that the result can be looked up.
charge = table(
    "charge",
    Column("key", Text, primary_key=True),
    owned(index=True),
    Column("token", Text, nullable=False),  # token of a card, or the gateway's id of a staged payment
    Column("payer_id", Text),  # approver of a staged payment; null for a card
    Column("amount", Id, nullable=False),
    Column("status", Text, nullable=False),  # pending, paid, declined
    Column("payment_id", Id),
    Column("created", Time, nullable=False),
)
# Payments staged at the gateway. They move no money until executed.
staged_payment = table(
    "staged_payment",
    Column("payment_id", Text, primary_key=True),  # the gateway's name for it
    owned(index=True),
    Column("amount", Id, nullable=False),
    Column("created", Time, nullable=False, index=True),
    Column("executed_by", Text),  # the request that did it first: token and key
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


BALANCE = select(func.coalesce(func.sum(ledger.c.amount), 0)).where(
    ledger.c.account_id == bindparam("account_id"), ledger.c.book == "owed"
)
_BALANCE = query(BALANCE)
_SAME_MONTH = query(
    select(func.count()).where(
        invoice.c.account_id == bindparam("account_id"), invoice.c.period.like(bindparam("pattern"))
    )
)
_OF_PERIOD = query(
    select(invoice.c.id).where(invoice.c.account_id == bindparam("account_id"), invoice.c.period == bindparam("period"))
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


def post(db: Session, account_id: int, entry: str, at: str, legs: dict[str, int]) -> None:
    """Write an entry of the ledger. Its legs sum to zero, and it is written once."""
    if sum(legs.values()) != 0:
        raise ValueError(f"{entry}: the legs do not sum to zero")
    for name, amount in legs.items():
        if amount:
            db.insert(ledger, account_id=account_id, entry=entry, book=name, amount=amount, at=at)


# ---- invoices and cards ---------------------------------------------------------------------------------------------


def extra_invoices(db: Session, account_id: int, month: str) -> int:
    """How many invoices of this month did not wait for its end."""
    return int(db.value(_SAME_MONTH, account_id=account_id, pattern=f"{month}#%"))


def is_closed(db: Session, account_id: int, month: str) -> bool:
    """True if the invoice of the month exists."""
    return db.value(_OF_PERIOD, account_id=account_id, period=month) is not None


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
