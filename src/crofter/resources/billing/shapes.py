"""Invoices, cards and payments as they are sent and shown."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Body, Id, Moment, View

Digits = r"^[0-9]+$"
CardNumber = Annotated[
    str, Meta(min_length=14, max_length=24, pattern=Digits, extra={"reason": "Must be 14-24 digits"})
]
Cvv = Annotated[str, Meta(min_length=3, max_length=4, pattern=Digits, extra={"reason": "Must be 3-4 digits"})]
Month = Annotated[int, Meta(ge=1, le=12)]
Year = Annotated[int, Meta(ge=1000, le=9999, extra={"reason": "Must be a year of four digits"})]


class InvoiceView(View):
    """A bill."""

    date: Moment
    id: Id
    label: str
    subtotal: float
    tax: float
    total: float


class InvoiceItemView(View, rename={"from_": "from"}):
    """One line of an invoice."""

    amount: float
    from_: Moment
    label: str
    quantity: int
    tax: float
    to: Moment
    total: float
    type: Literal["hourly", "prepay", "misc"]
    unit_price: float


class CardData(View):
    card_type: str
    expiry: str
    last_four: str


class PaymentMethodView(View):
    """A card that can be charged."""

    created: Moment
    data: CardData
    id: Id
    is_default: bool
    type: Literal["credit_card", "google_pay", "paypal"]


class PaymentView(View):
    date: Moment
    id: Id
    usd: float


class CardBody(Body):
    card_number: CardNumber
    cvv: Cvv
    expiry_month: Month
    expiry_year: Year


class PaymentMethodCreate(Body):
    type: Literal["credit_card"]
    is_default: bool
    data: CardBody


class PaymentCreate(Body):
    usd: Annotated[str, Meta(pattern=r"^\$?[0-9]{1,6}\.[0-9]{2}$", extra={"reason": "Must be an amount like 20.00"})]
    payment_method_id: Id | None = None
    cvv: Cvv | None = None


class PromoCode(Body):
    promo_code: Annotated[str, Meta(min_length=1, max_length=32)]
