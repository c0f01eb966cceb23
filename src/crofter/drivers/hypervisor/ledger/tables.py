"""Where things and work are kept: in the server's database, so that they survive with it and workers share them."""

from __future__ import annotations

from crofter.db import Flag, Id, Json, Time, identity, partial_index, table
from crofter.db.sql import Column, Integer, PrimaryKeyConstraint, Text

thing = table(
    "hypervisor_thing",
    Column("kind", Text, nullable=False),
    Column("id", Id, nullable=False),
    Column("host", Id, nullable=False, index=True),
    Column("doc", Json),
    Column("due", Time),
    Column("becomes", Json),
    Column("heading", Id),
    Column("operation", Id, nullable=False),
    Column("fence", Id, nullable=False),
    PrimaryKeyConstraint("kind", "id"),
    partial_index("ix_hypervisor_thing_heading", "heading", where="heading IS NOT NULL"),
)

work = table(
    "hypervisor_work",
    Column("operation", Id, nullable=False),
    Column("kind", Text, nullable=False),
    Column("id", Id, nullable=False),
    Column("step", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("begun", Time, nullable=False, index=True),
    Column("ends", Time, nullable=False),
    Column("amount", Id, nullable=False),
    Column("failure", Text),
    Column("reached", Integer),
    PrimaryKeyConstraint("operation", "kind", "id", "step", "verb"),
)

read_count = table(
    "hypervisor_read_count",
    Column("operation", Id, primary_key=True, autoincrement=False),
    Column("reads_left", Integer, nullable=False),
    Column("released", Flag, nullable=False, server_default="0"),
)

change = table(
    "hypervisor_change",
    identity(),
    Column("domain", Id, nullable=False),
    Column("host", Id, nullable=False),
    Column("power", Text, nullable=False),
    Column("reason", Text),
    Column("at", Time, nullable=False),
)

setting = table("hypervisor_setting", Column("name", Text, primary_key=True), Column("value", Json, nullable=False))
