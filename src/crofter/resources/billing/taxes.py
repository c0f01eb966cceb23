"""Tax by country, from a file that an operator can edit."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from crofter.catalogue import CatalogueError

_BUILT_IN = Path(__file__).parents[2] / "catalogue" / "taxes.toml"


class Tax(Struct, frozen=True):
    country: str
    name: str
    percent: Decimal


class _File(Struct, frozen=True):
    taxes: list[Tax]


@lru_cache(maxsize=8)
def rates(folder: str | None) -> dict[str, Tax]:
    own = Path(folder) / "taxes.toml" if folder else None
    path = own if own is not None and own.exists() else _BUILT_IN
    try:
        parsed = tomllib.loads(path.read_text(), parse_float=Decimal)
        found = msgspec.convert(parsed, _File, strict=False)
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CatalogueError(f"{path}: {error}") from error
    return {one.country.upper(): one for one in found.taxes}


def on(amount: int, country: str, folder: str | None) -> int:
    """Tax on an amount of micro-dollars, in whole cents."""
    tax = rates(folder).get(country.upper())
    return 0 if tax is None else whole_cents(int(amount * tax.percent / 100))


def whole_cents(micros: int) -> int:
    """Rounded half up to cents, which is done once: on the line of an invoice."""
    return (micros + 5_000) // 10_000 * 10_000
