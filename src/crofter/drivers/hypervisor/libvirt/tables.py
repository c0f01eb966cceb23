"""Tables of the libvirt driver, besides the ledger that it shares with the simulated driver."""

from __future__ import annotations

from crofter.db import Flag, Id, Json, Time, identity, table
from crofter.db.sql import Column, Integer, PrimaryKeyConstraint, Text

host = table(
    "hypervisor_host",
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("region", Text, nullable=False),
    Column("uri", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("volumes", Text),
    Column("network", Text, nullable=False),
    Column("forward", Integer),
    Column("architecture", Text, nullable=False),
    Column("vcpus", Integer, nullable=False),
    Column("memory", Id, nullable=False),
    Column("disk", Id, nullable=False),
    Column("state", Text, nullable=False),
    Column("emulation", Flag, nullable=False, server_default="0"),
    Column("resolvers", Text),
    Column("vlans", Text),
)

job = table(
    "hypervisor_job",
    identity(),
    Column("operation", Id, nullable=False),
    Column("kind", Text, nullable=False),
    Column("thing", Id, nullable=False),
    Column("step", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("changes", Json, nullable=False),
    Column("reads", Json, nullable=False),
    Column("owner", Text, nullable=False),
    Column("begun", Time, nullable=False),
    Column("beat", Time, nullable=False),
    Column("expected", Id, nullable=False),
    Column("state", Text, nullable=False),
)
"""Work that is under way, in real time. It is gone when the work is over."""

vlan_tag = table(
    "hypervisor_vlan_tag",
    Column("vlan", Id, primary_key=True, autoincrement=False),
    Column("tag", Integer, nullable=False, unique=True),
)
"""VLAN tags of private networks. Tags are unique across regions: hosts may share a wire."""

sample = table(
    "hypervisor_sample",
    Column("domain", Id, nullable=False),
    Column("at", Time, nullable=False),
    Column("since", Time, nullable=False),
    Column("counters", Json, nullable=False),
    Column("grown", Json, nullable=False),
    PrimaryKeyConstraint("domain", "at"),
)
"""Counters of machines as they were read, and by how much they had grown since the time before."""
