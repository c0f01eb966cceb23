"""Plans of every write of the server, with valid requests."""

from __future__ import annotations

from typing import Any

from httpx2 import Response

from tests.cloud import Cloud
from tests.matrix import SSH_KEY, Matrix, declared
from tests.resources.money import CARD

PLAN = {"Prefer": "plan"}
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db00000"
    "000049454e44ae426082"
)
IMAGE = {"image": "compute/debian11", "root_pass": "Vq7!mmpx-Tolp"}
PAYPAL = {"usd": "20.00", "redirect_url": "https://example.com/back", "cancel_url": "https://example.com/no"}
METHOD = {"type": "credit_card", "is_default": True, "data": CARD}
SERVICE = {"label": "other", "service_type": "tcp", "address": "127.0.0.1:9", "timeout": 1}
BODIES: dict[str, dict[str, Any]] = {
    "update_account": {"company": "Croft"},
    "create_domain": {"type": "master", "domain": "new.example.org", "soa_email": "a@example.org", "tags": ["new"]},
    "update_domain": {"group": "other"},
    "clone_domain": {"domain": "copy.example.org"},
    "import_domain": {"domain": "copy.example.org", "remote_nameserver": "127.0.0.1:9"},
    "create_domain_record": {"type": "TXT", "target": "hello"},
    "update_domain_record": {"target": "192.0.2.2"},
    "update_account_settings": {"backups_enabled": True},
    "update_credit_card": CARD,
    "create_payment_method": METHOD,
    "create_payment": {"usd": "20.00"},
    "stage_paypal_payment": PAYPAL,
    "redeem_promo_code": {"promo_code": "SANDBOX-100"},
    "create_snapshot": {"label": "now"},
    "rebuild_instance": IMAGE,
    "resize_instance": {"type": "g6-standard-2"},
    "migrate_instance": {"region": "us-west"},
    "reset_instance_password": {"root_pass": "Vq7!mmpx-Tolp"},
    "create_config": {"label": "other", "devices": {}},
    "update_config": {"label": "renamed"},
    "create_disk": {"size": 500, "label": "other"},
    "update_disk": {"label": "renamed"},
    "reset_disk_password": {"password": "Vq7!mmpx-Tolp"},
    "resize_disk": {"size": 900},
    "allocate_instance_ip": {"type": "ipv4", "public": False},
    "update_instance_ip": {"rdns": None},
    "allocate_ip": {"type": "ipv4", "public": False},
    "update_ip": {"rdns": None},
    "assign_ips": {"region": "us-east"},
    "assign_ipv4s": {"region": "us-east"},
    "share_ips": {},
    "share_ipv4s": {},
    "create_ipv6_range": {"prefix_length": 64},
    "clone_instance": {"region": "us-east", "type": "g6-nanode-1"},
    "create_instance": {"region": "us-east", "type": "g6-nanode-1", "tags": ["new"], **IMAGE},
    "create_firewall": {"label": "gate", "rules": {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}},
    "update_firewall": {"label": "gate", "status": "disabled"},
    "update_firewall_rules": {"inbound_policy": "ACCEPT"},
    "update_instance": {"label": "renamed", "tags": ["blue", "new"]},
    "create_longview_client": {"label": "other"},
    "update_longview_client": {"label": "other"},
    "update_longview_plan": {"longview_subscription": "longview-10"},
    "update_managed_compute_settings": {"ssh": {"port": 2222}},
    "create_managed_contact": {"name": "Eve", "email": "eve@example.com"},
    "update_managed_contact": {"name": "Eve"},
    "create_managed_credential": {"label": "other", "password": "sesame"},
    "update_managed_credential": {"label": "other"},
    "update_managed_credential_secrets": {"password": "sesame"},
    "create_managed_service": SERVICE,
    "update_managed_service": {"label": "other"},
    "create_nodebalancer": {"region": "us-east", "label": "back", "configs": [{"port": 80}], "tags": ["new"]},
    "update_nodebalancer": {"label": "renamed", "tags": ["blue", "new"]},
    "create_nodebalancer_config": {"port": 8080},
    "update_nodebalancer_config": {"port": 8081},
    "rebuild_nodebalancer_config": {"port": 8082, "nodes": []},
    "update_nodebalancer_node": {"label": "renamed"},
    "create_oauth_client": {"label": "other", "redirect_uri": "https://example.com/back"},
    "update_oauth_client": {"label": "other"},
    "update_profile": {"timezone": "Europe/Berlin"},
    "update_preferences": {"dark": True},
    "create_ssh_key": {"label": "other", "ssh_key": SSH_KEY.replace("alice", "other")},
    "update_ssh_key": {"label": "other"},
    "create_token": {"label": "other"},
    "update_token": {"label": "other"},
    "create_ticket": {"summary": "Hello", "description": "There."},
    "create_ticket_reply": {"description": "There."},
    "create_tag": {"label": "green"},
    "create_volume": {"label": "other", "region": "us-east", "tags": ["new"]},
    "update_volume": {"label": "renamed", "tags": ["blue", "new"]},
    "clone_volume": {"label": "other"},
    "resize_volume": {"size": 30},
    "upload_image": {"label": "other", "region": "us-east"},
    "update_image": {"label": "renamed"},
    "create_stackscript": {"label": "other", "images": ["any/all"], "script": "#!/bin/sh\n"},
    "update_stackscript": {"label": "renamed"},
    "update_user_grants": {"global": {"add_computes": True}},
    "create_user": {"username": "carl", "email": "carl@example.com"},
    "update_user": {"email": "new@example.com"},
}
NEEDS_MORE = {"confirm_two_factor"}
"""Operations that need a code of an authenticator; refused here, without effect."""
ON = {
    "idle": (
        *("boot_instance", "delete_disk", "resize_disk", "delete_config"),
        *("reset_disk_password", "reset_instance_password"),
    ),
    "bare": ("migrate_instance", "create_disk", "clone_disk", "update_disk", "enable_backups", "allocate_instance_ip"),
    "old": ("mutate_instance",),
}
"""Operations that need an instance in another state."""


class Planner(Matrix):
    """With what some endpoints need besides: instances of all sorts, a second card, a second address."""

    def __init__(self, cloud: Cloud) -> None:
        super().__init__(cloud)
        more = {"region": "us-east", "type": "g6-nanode-1"}
        idle, bare = self._post("/v4/compute/instances", **more, **IMAGE), self._post("/v4/compute/instances", **more)
        old = self._post("/v4/compute/instances", region="us-east", type="g5-standard-1")
        other = self._post("/v4/compute/instances", **more)
        self.far = self._post("/v4/compute/instances", region="us-west", type="g6-nanode-1")["id"]
        cloud.settle()
        self._post(f"/v4/compute/instances/{idle['id']}/shutdown")
        self._post(f"/v4/compute/instances/{bare['id']}/disks", size=1000, label="own")
        with cloud.runtime.database.write() as db:
            db.raw("UPDATE account SET public_ips = 3")
        path = f"/v4/compute/instances/{self.parts['compute_id']}"
        self.parts["address"] = self._post(f"{path}/ips", type="ipv4", public=True)["address"]
        self._post("/v4/account/payment-methods", **{**METHOD, "is_default": False})
        cloud.settle()
        self.parts["payment_method_id"] = self.alice.get("/v4/account/payment-methods").json()["data"][-1]["id"]
        self.attached = self._post("/v4/volumes", label="attached", compute_id=idle["id"])["id"]
        cloud.settle()
        self.on = {
            name: self._parts_of(instance["id"]) for name, instance in (("idle", idle), ("bare", bare), ("old", old))
        }
        self.transferable = other["id"]
        self.staged = self._post("/v4/account/payments/paypal", **PAYPAL)["payment_id"]
        self.plain = cloud.person(username="carol")

    def _parts_of(self, number: int) -> dict[str, Any]:
        parts = {"compute_id": number}
        for name, part in (("disks", "disk_id"), ("configs", "config_id")):
            data = self.alice.get(f"/v4/compute/instances/{number}/{name}").json()["data"]
            parts |= {part: data[0]["id"]} if data else {}
        return parts

    def plan(self, endpoint: Any) -> Response:
        name = endpoint.name
        parts = self.parts_of(endpoint)
        parts |= next((self.on[sort] for sort, names in ON.items() if name in names), {})
        if name in ("delete_user", "update_user_grants"):
            parts["username"] = "bob-restricted"
        if name == "detach_volume":
            parts["volume_id"] = self.attached
        path = declared(endpoint).path
        for part in endpoint.parts:
            value = str(parts[part])
            path = path.replace(f"{{{part}:path}}", value).replace(f"{{{part}}}", value)
        body = BODIES.get(name)
        if name in ("create_entity_transfer", "create_service_transfer"):
            body = {"entities": {"computes": [self.transferable]}}
        elif name == "attach_volume":
            body = {"compute_id": self.on["idle"]["compute_id"]}
        elif name == "create_firewall_device":
            body = {"id": self.on["bare"]["compute_id"], "type": "compute"}
        elif name in ("allocate_ip", "create_ipv6_range"):
            body = {**(body or {}), "compute_id": self.far if name == "create_ipv6_range" else self.transferable}
        elif name in ("assign_ips", "assign_ipv4s"):
            moved = {"address": self.parts["address"], "compute_id": self.transferable}
            body = {**(body or {}), "assignments": [moved]}
        elif name in ("share_ips", "share_ipv4s"):
            body = {"compute_id": self.transferable, "ips": [self.parts["address"]]}
        elif name == "create_nodebalancer_node":
            body = {"address": f"{parts['private_address']}:8080", "label": "other"}
        elif name == "execute_paypal_payment":
            body = {"payer_id": "GX7Y2", "payment_id": self.staged}
        elif name == "create_image":
            body = {"disk_id": self.on["bare"]["disk_id"]}
        elif name == "restore_backup":
            body = {"compute_id": parts["compute_id"], "overwrite": True}
        client = self.plain if name == "enable_managed" or name.startswith("accept") else self.alice
        if name == "update_oauth_client_thumbnail":
            headers = {**PLAN, "Content-Type": "image/png"}
            return client.put(path, content=PICTURE, headers=headers)
        if name == "create_ticket_attachment":
            return client.post(path, files={"file": ("note.txt", b"hello", "text/plain")}, headers=PLAN)
        return client.request(endpoint.method, path, json=body, headers=PLAN)
