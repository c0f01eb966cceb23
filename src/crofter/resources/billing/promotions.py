"""Credit that an account is given by a code, and how much of an invoice it pays."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta

from crofter import clock
from crofter.catalogue import CatalogueTable, Entry, Offered
from crofter.catalogue.table import Text as Words
from crofter.catalogue.table import TomlMoment, written
from crofter.context import Context
from crofter.db import Flag, Id, Moment, Row, Session, identity, owned, query, table
from crofter.db.sql import Column, Index, Integer, Text, bindparam, select
from crofter.errors import Invalid
from crofter.events import record
from crofter.money import micros, to_the_cent
from crofter.resources.account import store as accounts
from crofter.resources.billing.shapes import Promotion, ServiceType

YOUNG = 90 * clock.DAY
"""Accounts older than that get no more credit."""
SERVES = {"compute": "compute", "backup": "backup", "volume": "blockstorage", "ip": "ip_v4"}
SERVES |= {"managed": "managed", "nodebalancer": "nodebalancer", "transfer": "transfer_tx", "longview": "longview"}
"""Metered services by their names in promotions."""

# Promotions of the operator, from the catalogue file.
promotion = table(
    "promotion",
    Column("slug", Text, primary_key=True),  # the code
    Column("position", Integer, unique=True),
    Column("summary", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("image_url", Text, nullable=False),
    Column("service_type", Text, nullable=False),
    Column("credit", Id, nullable=False),  # micro-dollars
    Column("monthly_cap", Id, nullable=False),
    Column("days", Integer, nullable=False),
    Column("ends", Moment),
    Column("sandbox", Flag, nullable=False),
)
# Credits of accounts, with the terms of their day.
credit = table(
    "credit",
    identity(),
    owned(),
    Column("code", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("image_url", Text, nullable=False),
    Column("service_type", Text, nullable=False),
    Column("remaining", Id, nullable=False),
    Column("monthly_cap", Id, nullable=False),
    Column("month", Text, nullable=False),  # the month that the next number is of
    Column("month_used", Id, nullable=False),
    Column("expires", Moment, nullable=False),
    Index("ix_credit_account_id", "account_id", "id"),
)


class Offer(Offered):
    slug: str
    summary: str
    description: str
    image_url: str
    service_type: str
    credit: int
    monthly_cap: int
    days: int
    ends: str | None
    sandbox: bool


class Credit(Row):
    id: int
    account_id: int
    code: str
    summary: str
    description: str
    image_url: str
    service_type: str
    remaining: int
    monthly_cap: int
    month: str
    month_used: int
    expires: str

    def left(self, month: str) -> int:
        """Return the micro-dollars left for this month."""
        used = self.month_used if self.month == month else 0
        return max(0, min(self.remaining, self.monthly_cap - used))

    def view(self, month: str) -> Promotion:
        return Promotion(
            credit_monthly_cap=to_the_cent(self.monthly_cap),
            credit_remaining=to_the_cent(self.remaining),
            description=self.description,
            expire_dt=self.expires,
            image_url=self.image_url,
            service_type=self.service_type,  # type: ignore[arg-type]
            summary=self.summary,
            this_month_credit_remaining=to_the_cent(self.left(month)),
        )


_OFFER = query(
    select(*(promotion.c[name] for name in Offer.__struct_fields__)).where(promotion.c.slug == bindparam("code")), Offer
)
_ACTIVE = query(
    select(credit)
    .where(
        credit.c.account_id == bindparam("account_id"),
        credit.c.remaining > 0,
        credit.c.expires > bindparam("moment"),
    )
    .order_by(credit.c.id),
    Credit,
)


def active(db: Session, account_id: int, moment: str) -> list[Credit]:
    return db.all(_ACTIVE, account_id=account_id, moment=moment)


def views(ctx: Context) -> list[Promotion]:
    return [credit.view(ctx.moment[:7]) for credit in active(ctx.db, ctx.account_id, ctx.moment)]


def redeem(ctx: Context, code: str) -> Promotion:
    offer = ctx.db.maybe(_OFFER, code=code)
    if offer is None or not offer.offered or (offer.sandbox and not ctx.runtime.settings.sandbox):
        raise Invalid("promo_code is not valid", field="promo_code")
    if offer.ends is not None and ctx.moment >= offer.ends:
        raise Invalid("This promotion has ended.", field="promo_code")
    since = clock.parse(accounts.by_id(ctx.db, ctx.account_id).active_since)
    if ctx.now - since >= YOUNG:
        raise Invalid("Promo codes can only be used in the first 90 days of an account.", field="promo_code")
    if active(ctx.db, ctx.account_id, ctx.moment):
        raise Invalid("A promotion is already active on this account.", field="promo_code")
    ctx.db.insert(
        credit,
        account_id=ctx.account_id,
        code=offer.slug,
        summary=offer.summary,
        description=offer.description,
        image_url=offer.image_url,
        service_type=offer.service_type,
        remaining=offer.credit,
        monthly_cap=offer.monthly_cap,
        month=ctx.moment[:7],
        month_used=0,
        expires=clock.text(ctx.now + offer.days * clock.DAY),
    )
    record(ctx, "account_update", accounts.ENTITY)
    return views(ctx)[-1]


def spend(ctx: Context, granted: Credit, month: str, charges: Iterable[tuple[str, int]]) -> int:
    """Pay as much of these charges as the credit allows; return the amount."""
    eligible = sum(
        amount for what, amount in charges if granted.service_type in ("all", SERVES.get(what)) and amount > 0
    )
    paid = min(eligible, granted.left(month))
    if paid:
        used = granted.month_used if granted.month == month else 0
        changes = {"remaining": granted.remaining - paid, "month": month, "month_used": used + paid}
        ctx.db.update(credit, {"id": granted.id}, **changes)
    return paid


# ---- the catalogue --------------------------------------------------------------------------------------------------


class PromotionEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(pattern=r"^[!-~]+\Z", max_length=32)]
    """The code that customers type."""
    summary: Words
    description: str = ""
    image_url: str = ""
    service_type: ServiceType = "all"
    credit: Decimal
    monthly_cap: Decimal
    days: Annotated[int, Meta(ge=1, le=3650)]
    """How long the credit lasts, from when the code is used."""
    ends: TomlMoment | None = None
    """From when on the code cannot be used any more."""
    sandbox: bool = False
    """True if the code is valid in a sandbox only."""

    def __post_init__(self) -> None:
        for amount in (self.credit, self.monthly_cap):
            if micros(amount) % 10_000 or not amount:
                raise ValueError(f"{amount} is not a number of whole cents above 0")


def _columns(entry: PromotionEntry) -> dict[str, Any]:
    names = ("summary", "description", "image_url", "service_type", "days", "sandbox")
    amounts = {"credit": micros(entry.credit), "monthly_cap": micros(entry.monthly_cap)}
    return {name: getattr(entry, name) for name in names} | amounts | {"ends": written(entry.ends)}


PROMOTIONS = CatalogueTable("promotions", PromotionEntry, promotion, _columns, may_be_empty=True)
