"""What somebody who orders an instance asks for, and how they stand: one look for all of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from crofter.context import Context
from crofter.db import query
from crofter.resources.account.store import account
from crofter.resources.billing.standing import COLUMNS, AccountStanding
from crofter.resources.regions.store import Region, region
from crofter.resources.types.store import Type, compute_type


class Order(NamedTuple):
    type: Type | None
    region: Region | None
    account: AccountStanding


_TYPE, _REGION = Type.__struct_fields__, Region.__struct_fields__


def _order(*found: Any) -> Order:
    type_row, region_row = found[: len(_TYPE)], found[len(_TYPE) : len(_TYPE) + len(_REGION)]
    return Order(
        _offered(Type(*type_row)), _offered(Region(*region_row)), AccountStanding(*found[len(_TYPE) + len(_REGION) :])
    )


def _offered(found: Any) -> Any:
    """None if it is offered no more; or never was, and then there is nothing but nulls."""
    return found if found.offered else None


_ORDER = query(
    select(
        *(compute_type.c[name].label(f"type_{name}") for name in _TYPE),
        *(region.c[name].label(f"region_{name}") for name in _REGION),
        *COLUMNS,
    )
    .select_from(
        account.outerjoin(compute_type, compute_type.c.slug == bindparam("type")).outerjoin(
            region, region.c.slug == bindparam("region")
        )
    )
    .where(account.c.id == bindparam("account_id")),
    _order,
)


def placed(ctx: Context, type_slug: str, region_slug: str) -> Order:
    return ctx.db.one(_ORDER, account_id=ctx.account_id, type=type_slug, region=region_slug)
