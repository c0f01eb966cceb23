"""Objects of resources whose endpoints that make them are not served yet, written as those will write them."""

from __future__ import annotations

from typing import Any

from crofter.resources.firewalls import store as firewalls
from crofter.resources.images import store as images
from crofter.resources.nodebalancers import store as nodebalancers
from crofter.resources.nodebalancers.configs.tables import nodebalancer_config
from crofter.resources.nodebalancers.nodes.tables import nodebalancer_node
from crofter.resources.stackscripts import store as stackscripts
from crofter.resources.tags.store import tag, tagged
from crofter.resources.users.store import grant, user
from crofter.resources.volumes import store as volumes
from tests.cloud import Cloud

THEN = {"created": "2026-01-01T00:00:00", "updated": "2026-01-01T00:00:00"}


class Stock:
    """The objects of an account."""

    def __init__(self, cloud: Cloud, username: str) -> None:
        self.database = cloud.runtime.database
        with self.database.read() as db:
            row = db.raw(f"SELECT id, account_id FROM account_user WHERE username = '{username}'").fetchone()
        self.user_id, self.account_id = int(row[0]), int(row[1])

    def insert(self, table: Any, **values: Any) -> int:
        with self.database.write() as db:
            return db.insert(table, **values)

    def volume(self, instance_id: int | None, label: str = "data", region: str = "us-east") -> int:
        return self.insert(
            volumes.volume,
            account_id=self.account_id,
            label=label,
            size=20,
            region=region,
            instance_id=instance_id,
            status="active",
            **THEN,
        )

    def firewall(self, instance_id: int, label: str = "web", kind: str = "compute") -> int:
        anywhere = {"ipv4": ["0.0.0.0/0"], "ipv6": []}
        rule = {"protocol": "TCP", "ports": "443", "addresses": anywhere, "action": "ACCEPT"}
        firewall_id = self.insert(
            firewalls.firewall,
            account_id=self.account_id,
            label=label,
            rules={"inbound": [rule], "inbound_policy": "DROP", "outbound": [], "outbound_policy": "ACCEPT"},
            **THEN,
        )
        self.insert(firewalls.firewall_device, firewall_id=firewall_id, kind=kind, object_id=instance_id, **THEN)
        return firewall_id

    def nodebalancer(
        self, host: str, label: str = "front", region: str = "us-east", nodes: int = 1, ipv4: str | None = None
    ) -> int:
        balancer_id = self.insert(
            nodebalancers.nodebalancer,
            account_id=self.account_id,
            label=label,
            region=region,
            hostname=f"{label}.example.com",
            ipv4=ipv4 or f"100.64.200.{len(label)}",
            **THEN,
        )
        config_id = self.insert(
            nodebalancer_config,
            nodebalancer_id=balancer_id,
            port=80,
            protocol="http",
            algorithm="roundrobin",
            stickiness="none",
            check_kind="none",
            check_interval=0,
            check_timeout=30,
            check_attempts=3,
            check_path="",
            check_body="",
            check_passive=True,
            proxy_protocol="none",
            cipher_suite="recommended",
        )
        for number in range(nodes):
            self.insert(
                nodebalancer_node,
                config_id=config_id,
                label=f"node{number}",
                region=region,
                host=host,
                port=8080 + number,
                weight=50,
                mode="accept",
            )
        return balancer_id

    def image(self, label: str = "golden") -> int:
        return self.insert(
            images.image, account_id=self.account_id, label=label, size=900, deprecated=False, created_by="x", **THEN
        )

    def stackscript(self, label: str = "setup", *, is_public: bool = False) -> int:
        return self.insert(
            stackscripts.stackscript,
            account_id=self.account_id,
            username="x",
            label=label,
            images=["any/all"],
            script="#!/bin/sh\n",
            user_defined_fields=[],
            is_public=is_public,
            **THEN,
        )

    def tag(self, kind: str, object_id: int, label: str) -> None:
        tag_id = self.insert(tag, account_id=self.account_id, label=label)
        self.insert(tagged, tag_id=tag_id, kind=kind, object_id=object_id)

    def restrict(self, *granted: tuple[str, int]) -> None:
        with self.database.write() as db:
            db.update(user, {"id": self.user_id}, restricted=True)
            for kind, object_id in granted:
                db.insert(grant, user_id=self.user_id, kind=kind, object_id=object_id, level="read_only")
