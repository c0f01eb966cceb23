"""The table of the nodes of load balancers."""

from __future__ import annotations

from crofter.db import Id, identity, table
from crofter.db.sql import Column, ForeignKey, Index, Integer, Text, UniqueConstraint

nodebalancer_node = table(
    "nodebalancer_node",
    identity(),
    Column("config_id", Id, ForeignKey("nodebalancer_config.id", ondelete="CASCADE"), nullable=False),
    Column("label", Text, nullable=False),
    # Shown as one: ``192.168.128.7:80``. Private addresses are the same range in every region.
    Column("region", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("port", Integer, nullable=False),
    Column("weight", Integer, nullable=False),
    Column("mode", Text, nullable=False),
    UniqueConstraint("config_id", "host", "port"),
    Index("ix_nodebalancer_node_config_id", "config_id", "id"),
    Index("ix_nodebalancer_node_host", "host", "region"),
)
