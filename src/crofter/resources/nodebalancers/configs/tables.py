"""The table of the ports of load balancers."""

from __future__ import annotations

from crofter.db import Flag, Id, Sealed, identity, table
from crofter.db.sql import Column, ForeignKey, Integer, Text, UniqueConstraint

nodebalancer_config = table(
    "nodebalancer_config",
    identity(),
    Column("nodebalancer_id", Id, ForeignKey("nodebalancer.id", ondelete="CASCADE"), nullable=False),
    Column("port", Integer, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("algorithm", Text, nullable=False),
    Column("stickiness", Text, nullable=False),
    Column("check_kind", Text, nullable=False),
    Column("check_interval", Integer, nullable=False),
    Column("check_timeout", Integer, nullable=False),
    Column("check_attempts", Integer, nullable=False),
    Column("check_path", Text, nullable=False),
    Column("check_body", Text, nullable=False),
    Column("check_passive", Flag, nullable=False),
    Column("proxy_protocol", Text, nullable=False),
    Column("cipher_suite", Text, nullable=False),
    # Name and fingerprint are what is shown of the certificate.
    Column("ssl_cert", Text),
    Column("ssl_key", Sealed),
    Column("ssl_commonname", Text, nullable=False, server_default=""),
    Column("ssl_fingerprint", Text, nullable=False, server_default=""),
    UniqueConstraint("nodebalancer_id", "port"),
)
