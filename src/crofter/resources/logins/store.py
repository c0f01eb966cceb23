"""Logins of the last 90 days, and the browsers that a user trusts."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, LargeBinary, Text

from crofter.db import Flag, Id, Moment, identity, owned, table

login = table(
    "login",
    identity(),
    owned(),
    Column("user_id", Id),
    Column("username", Text, nullable=False),
    Column("ip", Text, nullable=False),
    Column("restricted", Flag, nullable=False),
    Column("status", Text, nullable=False),  # successful or failed
    Column("at", Moment, nullable=False),
    Index("ix_login_account_id", "account_id", "id"),
    Index("ix_login_user_id", "user_id", "id"),
)

device = table(
    "trusted_device",
    identity(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("user_agent", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("expiry", Moment, nullable=False),
    Column("last_authenticated", Moment, nullable=False),
    Column("last_remote_addr", Text, nullable=False),
)
