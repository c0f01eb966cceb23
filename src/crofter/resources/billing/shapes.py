"""Invoices, cards, payments, promotions and costs as they are sent and shown."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crofter.shapes import Body, Filtered, Id, Moment, Secret, View, Word, Words, word

CAPABILITIES = [
    "Computes",
    "NodeBalancers",
    "Block Storage",
    "Object Storage",
    "Kubernetes",
    "Cloud Firewall",
    "Vlans",
    "Machine Images",
]


def check_number(number: str) -> str | None:
    """The last digit of a card number is made from the others."""
    from stdnum import luhn  # noqa: PLC0415 - slow to import

    return None if luhn.is_valid(number) else "Invalid credit card number"


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
ToDate = Annotated[float, Meta(description="US dollars from the first of the month to now, before tax.")]
Forecast = Annotated[float, Meta(description="US dollars of the whole month if nothing changes, before tax.")]
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

    date: Filtered[Moment]
    id: Id
    label: str
    subtotal: Dollars
    tax: Dollars
    total: Dollars


BilledLabel = Annotated[str, word("", "Backup Service - ", capital=True)]
"""Label of a billed object: begins with the plan or service, and ends with the owner's label."""


class InvoiceItemView(View, rename={"from_": "from"}):
    """A line of an invoice."""

    amount: Dollars
    from_: Moment
    label: BilledLabel
    quantity: int
    tax: Dollars
    to: Moment
    total: Dollars
    type: Literal["hourly", "prepay", "misc"]
    unit_price: Dollars


class CardData(View):
    """Data of a card."""

    card_type: str
    expiry: Annotated[str, Meta(examples=["12/2031"])]
    last_four: str


class PaymentMethodView(View):
    """A card that can be charged."""

    created: Filtered[Moment]
    data: CardData
    id: Id
    is_default: bool
    type: Literal["credit_card", "google_pay", "paypal"]


class PaymentView(View):
    """Money that was taken."""

    date: Filtered[Moment]
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


class CreditCard(View):
    expiry: str | None
    last_four: int | None


class AccountView(View):
    """Contact and billing data of the account."""

    active_promotions: list[Promotion]
    active_since: Moment
    address_1: str
    address_2: str
    balance: float
    balance_uninvoiced: float
    capabilities: Words[list[str]]
    city: str
    company: str
    country: str
    credit_card: CreditCard
    email: str
    euuid: str
    first_name: str
    last_name: str
    phone: str
    state: str
    tax_id: str
    zip: str


class AccountTransfer(View):
    """Traffic of the month over all instances, in GB."""

    billable: int
    quota: int
    used: int


class CostItem(View):
    """An object that is billed by the hour."""

    forecast: Forecast
    hourly: Dollars
    label: BilledLabel
    month_to_date: ToDate
    monthly: Dollars
    service: Word[str]


class ServiceCost(View):
    """Total cost of a service."""

    forecast: Forecast
    month_to_date: ToDate
    service: Word[str]


class TagCost(View):
    """Total cost of the objects with a tag; an object with two tags counts for both."""

    forecast: Forecast
    month_to_date: ToDate
    tag: Annotated[str | None, Meta(description="Null: of all that have none.")]


class AccountCost(View, rename={"from_": "from"}):
    """Cost of the account in this month, without traffic, tax and credits."""

    forecast: Forecast
    from_: Moment
    hourly: Dollars
    month_to_date: ToDate
    monthly: Dollars
    services: list[ServiceCost]
    tags: list[TagCost]
    to: Moment


class CardBody(Body):
    card_number: Secret[CardNumber]
    cvv: Secret[Cvv]
    expiry_month: Month
    expiry_year: Year


class PaymentMethodCreate(Body):
    type: Literal["credit_card"]
    is_default: bool
    data: CardBody


Usd = Annotated[
    str,
    Meta(
        pattern=r"^\$?[0-9]{1,12}\.[0-9]{2}\Z",
        description="With cents.",
        examples=["20.00"],
        extra={"reason": "Must be an amount like 20.00"},
    ),
]


class PaymentCreate(Body):
    usd: Usd
    payment_method_id: Id | None = None
    cvv: Secret[Cvv] | None = None


def _check_address(value: str) -> str | None:
    return None if value.startswith(("http://", "https://")) else "Must be an http or https address"


def _address(description: str) -> Meta:
    return Meta(
        min_length=1,
        max_length=2048,
        description=description,
        examples=["https://example.com"],
        extra={"check": _check_address},
        extra_json_schema={"pattern": "^https?://.*$"},
    )


class PayPalCreate(Body):
    cancel_url: Annotated[str, _address("Where a payer is sent who does not approve.")]
    redirect_url: Annotated[str, _address("Where a payer is sent who has approved.")]
    usd: Usd


class PayPalExecute(Body):
    payer_id: Annotated[str, Meta(min_length=1, max_length=128, description="Who has approved the payment.")]
    payment_id: Annotated[str, Meta(min_length=1, max_length=128, description="Which payment was approved.")]


class PayPalView(View):
    """A payment that waits for its payer to approve it."""

    checkout_token: Annotated[str, Meta(description="Names the payment to the payer's browser.")]
    payment_id: Annotated[str, Meta(description="Names the payment when it is executed.")]


class PromoCode(Body):
    promo_code: Annotated[str, Meta(min_length=1, max_length=32)]
