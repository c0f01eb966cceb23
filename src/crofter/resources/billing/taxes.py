"""Tax by country, from a file that an operator can edit."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta

from crofter.catalogue import CatalogueTable, Entry
from crofter.catalogue.table import Text as Words
from crofter.db import Row, Session, query, table
from crofter.db.sql import Column, Integer, Text, bindparam, select
from crofter.money import whole_cents

_MILLION = 1_000_000

tax = table(
    "tax",
    Column("slug", Text, primary_key=True),  # the country
    Column("position", Integer, unique=True),
    Column("name", Text, nullable=False),
    Column("millionths", Integer, nullable=False),
)


class Tax(Row):
    """Tax of a country: VAT, GST or similar."""

    name: str
    millionths: int

    def on(self, amount: int) -> int:
        """In whole cents, of an amount of micro-dollars."""
        return whole_cents(amount * self.millionths // _MILLION)


NONE = Tax("", 0)
_OF = query(
    select(tax.c.name, tax.c.millionths).where(tax.c.slug == bindparam("country"), tax.c.position.is_not(None)), Tax
)


def of(db: Session, country: str) -> Tax:
    return db.maybe(_OF, country=country.upper()) or NONE


class TaxEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(pattern=r"^[A-Z]{2}\Z")]
    """ISO 3166 code of the country."""
    name: Words
    percent: Decimal

    def __post_init__(self) -> None:
        if not self.percent.is_finite() or not 0 <= self.percent <= 100:
            raise ValueError(f"percent: {self.percent} is not between 0 and 100")
        if self.percent * 10_000 != (self.percent * 10_000).to_integral_value():
            raise ValueError(f"percent: {self.percent} has more than four digits after the point")


def _columns(entry: TaxEntry) -> dict[str, Any]:
    return {"name": entry.name, "millionths": int(entry.percent * 10_000)}


TAXES = CatalogueTable("taxes", TaxEntry, tax, _columns, may_be_empty=True)
