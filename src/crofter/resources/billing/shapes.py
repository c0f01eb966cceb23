"""Invoices, cards, payments and promotions as they are sent and shown."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.billing.checks import check_number
from crofter.shapes import Body, Id, Moment, Secret, View

Digits = r"^[0-9]+\Z"
CardNumber = Annotated[
    str,
    Meta(
        min_length=14,
        max_length=24,
        pattern=Digits,
        description="Digits, without spaces or dashes.",
        examples=["4111111111111111"],
        extra={"reason": "Must be 14-24 digits", "check": check_number},
    ),
]
Cvv = Annotated[
    str,
    Meta(
        min_length=3,
        max_length=4,
        pattern=Digits,
        description="The digits on the back.",
        examples=["123"],
        extra={"reason": "Must be 3-4 digits"},
    ),
]
Month = Annotated[int, Meta(ge=1, le=12)]
Year = Annotated[int, Meta(ge=1000, le=9999, examples=[2031], extra={"reason": "Must be a year of four digits"})]
Dollars = Annotated[float, Meta(description="US dollars.")]
Amount = Annotated[str, Meta(description="US dollars.", examples=["50.00"])]
ServiceType = Literal[
    "all",
    "backup",
    "blockstorage",
    "db_mysql",
    "ip_v4",
    "compute",
    "compute_disk",
    "compute_memory",
    "longview",
    "managed",
    "nodebalancer",
    "objectstorage",
    "transfer_tx",
]


class InvoiceView(View):
    """A bill."""

    date: Moment
    id: Id
    label: str
    subtotal: Dollars
    tax: Dollars
    total: Dollars


class InvoiceItemView(View, rename={"from_": "from"}):
    """One line of an invoice."""

    amount: Dollars
    from_: Moment
    label: str
    quantity: int
    tax: Dollars
    to: Moment
    total: Dollars
    type: Literal["hourly", "prepay", "misc"]
    unit_price: Dollars


class CardData(View):
    """What is known of a card."""

    card_type: str
    expiry: Annotated[str, Meta(examples=["12/2031"])]
    last_four: str


class PaymentMethodView(View):
    """A card that can be charged."""

    created: Moment
    data: CardData
    id: Id
    is_default: bool
    type: Literal["credit_card", "google_pay", "paypal"]


class PaymentView(View):
    """Money that was taken."""

    date: Moment
    id: Id
    usd: Dollars


class Promotion(View):
    """A credit that the account has been given."""

    credit_monthly_cap: Amount
    credit_remaining: Amount
    description: str
    expire_dt: Moment | None
    image_url: str
    service_type: ServiceType
    summary: str
    this_month_credit_remaining: Amount


class CardBody(Body):
    card_number: Secret[CardNumber]
    cvv: Secret[Cvv]
    expiry_month: Month
    expiry_year: Year


class PaymentMethodCreate(Body):
    type: Literal["credit_card"]
    is_default: bool
    data: CardBody


class PaymentCreate(Body):
    usd: Annotated[
        str,
        Meta(
            pattern=r"^\$?[0-9]{1,12}\.[0-9]{2}\Z",
            description="With cents.",
            examples=["20.00"],
            extra={"reason": "Must be an amount like 20.00"},
        ),
    ]
    payment_method_id: Id | None = None
    cvv: Secret[Cvv] | None = None


class PromoCode(Body):
    promo_code: Annotated[str, Meta(min_length=1, max_length=32)]
