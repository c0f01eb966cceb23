"""Invoices, their lines, and payments, as collections."""

from __future__ import annotations

from crofter.context import Context
from crofter.db import Row, query
from crofter.db.collections import Collection
from crofter.db.sql import bindparam, select
from crofter.money import dollars
from crofter.resources.billing.shapes import InvoiceItemView, InvoiceView, PaymentMethodView, PaymentView
from crofter.resources.billing.store import METHODS, Method, invoice, invoice_item, payment, payment_method


class Invoice(Row):
    id: int
    account_id: int
    date: str
    period: str
    subtotal: int
    tax: int
    total: int
    address: dict[str, str]
    seller: str

    def view(self) -> InvoiceView:
        return InvoiceView(
            self.date,
            self.id,
            f"Invoice #{self.id}",
            dollars(self.subtotal),
            dollars(self.tax),
            dollars(self.total),
        )


class StoredInvoiceItem(Row):
    id: int
    invoice_id: int
    what: str
    label: str
    type: str
    unit_price: int
    quantity: int
    amount: int
    tax: int
    total: int
    from_: str
    to_: str

    def view(self) -> InvoiceItemView:
        return InvoiceItemView(
            amount=dollars(self.amount),
            from_=self.from_,
            label=self.label,
            quantity=self.quantity,
            tax=dollars(self.tax),
            to=self.to_,
            total=dollars(self.total),
            type=self.type,  # type: ignore[arg-type]
            unit_price=dollars(self.unit_price),
        )


class Payment(Row):
    id: int
    account_id: int
    date: str
    amount: int
    reference: str

    def view(self) -> PaymentView:
        return PaymentView(self.date, self.id, dollars(self.amount))


_INVOICES = select(invoice).where(invoice.c.account_id == bindparam("account_id"))
_PAYMENTS = select(payment).where(payment.c.account_id == bindparam("account_id"))
_ITEMS = select(invoice_item).where(invoice_item.c.invoice_id == bindparam("invoice_id"))
_DATE = {"date": invoice.c.date}
INVOICES = Collection(InvoiceView, _INVOICES, Invoice, key=invoice.c.id, columns=_DATE, newest_first=True)
ITEMS = Collection(InvoiceItemView, _ITEMS, StoredInvoiceItem, key=invoice_item.c.id, columns={})
_PAID = {"date": payment.c.date}
PAYMENTS = Collection(PaymentView, _PAYMENTS, Payment, key=payment.c.id, columns=_PAID, newest_first=True)
_ADDED = {"created": payment_method.c.created}
PAYMENT_METHODS = Collection(PaymentMethodView, METHODS, Method, key=payment_method.c.id, columns=_ADDED)
INVOICE = query(_INVOICES.where(invoice.c.id == bindparam("id")), Invoice)
PAYMENT = query(_PAYMENTS.where(payment.c.id == bindparam("id")), Payment)
ALL_ITEMS = query(_ITEMS.order_by(invoice_item.c.id), StoredInvoiceItem)


def get_invoice(ctx: Context, invoice_id: int) -> Invoice:
    return ctx.db.one(INVOICE, account_id=ctx.account_id, id=invoice_id)


def get_payment(ctx: Context, payment_id: int) -> Payment:
    return ctx.db.one(PAYMENT, account_id=ctx.account_id, id=payment_id)


def items(ctx: Context, invoice_id: int) -> list[StoredInvoiceItem]:
    return ctx.db.all(ALL_ITEMS, invoice_id=invoice_id)
