"""Accounts."""

from __future__ import annotations

from crofter.context import Context
from crofter.db import Flag, Moment, Row, Session, identity, query, table
from crofter.db.sql import Column, Integer, Text, bindparam, false, select, true
from crofter.kinds import Entity

ENTITY = Entity("account", None, None, "/v4/account")
"""Event entity of the caller's account."""

account = table(
    "account",
    identity(),
    Column("euuid", Text, nullable=False, unique=True),
    Column("email", Text, nullable=False),
    # Whom to bill, and where.
    Column("company", Text, nullable=False, server_default=""),
    Column("first_name", Text, nullable=False, server_default=""),
    Column("last_name", Text, nullable=False, server_default=""),
    Column("address_1", Text, nullable=False, server_default=""),
    Column("address_2", Text, nullable=False, server_default=""),
    Column("city", Text, nullable=False, server_default=""),
    Column("state", Text, nullable=False, server_default=""),
    Column("zip", Text, nullable=False, server_default=""),
    Column("country", Text, nullable=False, server_default=""),
    Column("phone", Text, nullable=False, server_default=""),
    Column("tax_id", Text, nullable=False, server_default=""),
    Column("active_since", Moment, nullable=False),
    Column("closed", Flag, nullable=False),
    Column("suspended", Flag, nullable=False, server_default=false()),  # set by the operator: all its users are refused
    Column("managed", Flag, nullable=False),
    Column("public_ips", Integer, nullable=False),
    # Settings of the account.
    Column("backups_enabled", Flag, nullable=False, server_default=false()),
    Column("network_helper", Flag, nullable=False, server_default=true()),
    Column("longview_subscription", Text),  # null: the free plan
)


class Account(Row):
    id: int
    euuid: str
    email: str
    company: str
    first_name: str
    last_name: str
    address_1: str
    address_2: str
    city: str
    state: str
    zip: str
    country: str
    phone: str
    tax_id: str
    active_since: str
    closed: bool
    managed: bool
    public_ips: int
    backups_enabled: bool
    network_helper: bool
    longview_subscription: str | None


_BY_ID = query(
    select(*(account.c[name] for name in Account.__struct_fields__)).where(account.c.id == bindparam("account_id")),
    Account,
)
_BY_EUUID = query(
    select(*(account.c[name] for name in Account.__struct_fields__)).where(account.c.euuid == bindparam("euuid")),
    Account,
)


def by_id(db: Session, account_id: int) -> Account:
    return db.one(_BY_ID, account_id=account_id)


def by_euuid(db: Session, euuid: str) -> Account | None:
    return db.maybe(_BY_EUUID, euuid=euuid)


def billing_address(account: Account) -> dict[str, str]:
    """Return the address for an invoice, as of the moment of the invoice."""
    names = (
        "company",
        "first_name",
        "last_name",
        "address_1",
        "address_2",
        "city",
        "state",
        "zip",
        "country",
        "tax_id",
    )
    return {name: getattr(account, name) for name in names}


_MANAGED = query(select(account.c.managed).where(account.c.id == bindparam("account_id")))
_NETWORK_HELPER = query(select(account.c.network_helper).where(account.c.id == bindparam("account_id")))
_PUBLIC_IPS = query(select(account.c.public_ips).where(account.c.id == bindparam("account_id")))


def is_managed(db: Session, account_id: int) -> bool:
    return bool(db.value(_MANAGED, account_id=account_id))


def network_helper(ctx: Context) -> bool:
    """True if new configuration profiles set up the guest's network by default."""
    return bool(ctx.db.value(_NETWORK_HELPER, account_id=ctx.account_id))


def public_ips(ctx: Context) -> int:
    """How many public addresses an instance of the account may have."""
    return int(ctx.db.value(_PUBLIC_IPS, account_id=ctx.account_id))
