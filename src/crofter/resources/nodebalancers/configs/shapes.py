"""Ports of a load balancer as they are sent and shown."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta

from crofter.resources.nodebalancers.nodes.shapes import MOST_NODES, NodeBalancerNodeBody
from crofter.shapes import UNSET, Body, Id, Optional, Secret, View

REDACTED: Literal["<REDACTED>"] = "<REDACTED>"
"""Shown in place of certificate and key. Sent back, it means that they stay what they are."""

_PATH = re.compile("[a-zA-Z0-9/%?&=.-]*")


def path_complaint(value: str) -> str | None:
    return None if _PATH.fullmatch(value) else "Must only use ASCII letters, numbers and / - % ? & = ."


Port = Annotated[int, Meta(ge=1, le=65535, description="Where it listens; unique on the load balancer.")]
Protocol = Annotated[Literal["http", "https", "tcp"], Meta(description="What is spoken on the port.")]
Algorithm = Annotated[
    Literal["roundrobin", "leastconn", "source"], Meta(description="How the node for a new connection is chosen.")
]
Stickiness = Annotated[
    Literal["none", "table", "http_cookie"], Meta(description="How a client is kept at the node it was at before.")
]
Check = Annotated[
    Literal["none", "connection", "http", "http_body"], Meta(description="How it is found out whether nodes are up.")
]
Interval = Annotated[
    int, Meta(ge=0, le=3600, description="Seconds between two checks; 0: the next begins when one has ended.")
]
Timeout = Annotated[int, Meta(ge=1, le=30, description="Seconds after which a check has failed.")]
Attempts = Annotated[int, Meta(ge=1, le=30, description="Failed checks after which a node is down.")]
Path = Annotated[
    str,
    Meta(
        max_length=255,
        description="What an HTTP check asks for.",
        extra={"check": path_complaint},
        extra_json_schema={"pattern": "^[a-zA-Z0-9/%?&=.-]*$"},
    ),
]
Text = Annotated[str, Meta(max_length=255, description="What must be in the answer to a check of the body.")]
Passive = Annotated[bool, Meta(description="Whether a node that answers with errors counts as down, too.")]
Proxy = Annotated[Literal["none", "v1", "v2"], Meta(description="How a node is told who the client is; for tcp.")]
Ciphers = Annotated[Literal["recommended", "legacy"], Meta(description="Which ciphers clients may use; for https.")]
Certificate = Annotated[
    str,
    Meta(
        max_length=65536,
        description="For https: a PEM certificate, followed by those that vouch for it.",
        extra_json_schema={"format": "ssl-cert"},
    ),
]
Key = Secret[
    Annotated[
        str,
        Meta(
            max_length=16384,
            description="For https: the PEM private key of the certificate, without a passphrase.",
            extra_json_schema={"format": "ssl-key"},
        ),
    ]
]
Hidden = Annotated[Literal["<REDACTED>"] | None, Meta(description="Null if there is none.")]


class NodesStatusView(View):
    """How many nodes are up and down, as far as they are checked."""

    down: int
    up: int


class NodeBalancerConfigView(View):
    """Service of a load balancer on a port."""

    algorithm: Algorithm
    check: Check
    check_attempts: Attempts
    check_body: Text
    check_interval: Interval
    check_passive: Passive
    check_path: Path
    check_timeout: Timeout
    cipher_suite: Ciphers
    id: Id
    nodebalancer_id: Id
    nodes_status: NodesStatusView
    port: Port
    protocol: Protocol
    proxy_protocol: Proxy
    ssl_cert: Hidden
    ssl_commonname: Annotated[str, Meta(description="Whom the certificate is for.", examples=["www.example.com"])]
    ssl_fingerprint: Annotated[
        str, Meta(description="SHA-1 of the certificate.", examples=["00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F"])
    ]
    ssl_key: Hidden
    stickiness: Stickiness


class NodeBalancerConfigBody(Body):
    """Settings of a config. Missing values get defaults at creation and stay in an update."""

    port: Optional[Port] = UNSET
    protocol: Optional[Protocol] = UNSET
    algorithm: Optional[Algorithm] = UNSET
    stickiness: Optional[Stickiness] = UNSET
    check: Optional[Check] = UNSET
    check_interval: Optional[Interval] = UNSET
    check_timeout: Optional[Timeout] = UNSET
    check_attempts: Optional[Attempts] = UNSET
    check_path: Optional[Path] = UNSET
    check_body: Optional[Text] = UNSET
    check_passive: Optional[Passive] = UNSET
    proxy_protocol: Optional[Proxy] = UNSET
    cipher_suite: Optional[Ciphers] = UNSET
    ssl_cert: Optional[Certificate | None] = UNSET
    ssl_key: Optional[Key | None] = UNSET


class NodeBalancerConfigRebuild(NodeBalancerConfigBody):
    nodes: Optional[
        Annotated[list[NodeBalancerNodeBody], Meta(max_length=MOST_NODES, description="All nodes behind it.")]
    ] = UNSET
