"""Accounts."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Text

from crofter.db import Flag, Moment, identity, table

account = table(
    "account",
    identity(),
    Column("euuid", Text, nullable=False, unique=True),
    Column("email", Text, nullable=False),
    Column("active_since", Moment, nullable=False),
    Column("closed", Flag, nullable=False),
    Column("managed", Flag, nullable=False),
    Column("public_ips", Integer, nullable=False),
)
