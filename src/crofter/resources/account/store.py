"""Accounts."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Text, bindparam, false, select, true

from crofter.context import Context
from crofter.db import Flag, Moment, identity, query, table

account = table(
    "account",
    identity(),
    Column("euuid", Text, nullable=False, unique=True),
    Column("email", Text, nullable=False),
    Column("active_since", Moment, nullable=False),
    Column("closed", Flag, nullable=False),
    Column("managed", Flag, nullable=False),
    Column("public_ips", Integer, nullable=False),
    # Settings of the account.
    Column("backups_enabled", Flag, nullable=False, server_default=false()),
    Column("network_helper", Flag, nullable=False, server_default=true()),
)

_BACKUPS = query(select(account.c.backups_enabled).where(account.c.id == bindparam("account_id")))
_NETWORK_HELPER = query(select(account.c.network_helper).where(account.c.id == bindparam("account_id")))
_PUBLIC_IPS = query(select(account.c.public_ips).where(account.c.id == bindparam("account_id")))


def backups_enabled(ctx: Context) -> bool:
    """Whether new instances are backed up unless they say otherwise."""
    return bool(ctx.db.value(_BACKUPS, account_id=ctx.account_id))


def network_helper(ctx: Context) -> bool:
    """Whether new profiles set up the guest's network unless they say otherwise."""
    return bool(ctx.db.value(_NETWORK_HELPER, account_id=ctx.account_id))


def public_ips(ctx: Context) -> int:
    """How many public addresses an instance of the account may have."""
    return int(ctx.db.value(_PUBLIC_IPS, account_id=ctx.account_id))
