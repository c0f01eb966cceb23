"""Every write of the server, asked for in a way that works, and only planned."""

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
    "clone_instance": {"region": "us-east", "type": "g6-nanode-1"},
    "create_instance": {"region": "us-east", "type": "g6-nanode-1", "tags": ["new"], **IMAGE},
    "update_instance": {"label": "renamed", "tags": ["blue", "new"]},
    "update_managed_compute_settings": {"ssh": {"port": 2222}},
    "create_managed_contact": {"name": "Eve", "email": "eve@example.com"},
    "update_managed_contact": {"name": "Eve"},
    "create_managed_credential": {"label": "other", "password": "sesame"},
    "update_managed_credential": {"label": "other"},
    "update_managed_credential_secrets": {"password": "sesame"},
    "create_managed_service": SERVICE,
    "update_managed_service": {"label": "other"},
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
    "update_user_grants": {"global": {"add_computes": True}},
    "create_user": {"username": "carl", "email": "carl@example.com"},
    "update_user": {"email": "new@example.com"},
}
NEEDS_MORE = {"confirm_two_factor"}
"""What a code of somebody's telephone is needed for; refused here, and that changes nothing either."""
ON = {
    "idle": (
        *("boot_instance", "delete_disk", "resize_disk", "delete_config"),
        *("reset_disk_password", "reset_instance_password"),
    ),
    "bare": ("create_disk", "clone_disk", "update_disk", "enable_backups"),
    "old": ("mutate_instance",),
}
"""What is done to another instance than a running one, as it was made."""


class Planner(Matrix):
    """With what some endpoints need besides: instances of all sorts, a second card, a second address."""

    def __init__(self, cloud: Cloud) -> None:
        super().__init__(cloud)
        more = {"region": "us-east", "type": "g6-nanode-1"}
        idle, bare = self._post("/v4/compute/instances", **more, **IMAGE), self._post("/v4/compute/instances", **more)
        old = self._post("/v4/compute/instances", region="us-east", type="g5-standard-1")
        other = self._post("/v4/compute/instances", **more)
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
        self.on = {name: self._parts_of(one["id"]) for name, one in (("idle", idle), ("bare", bare), ("old", old))}
        self.transferable = other["id"]
        self.plain = cloud.person(username="carol")

    def _parts_of(self, number: int) -> dict[str, Any]:
        found = {"compute_id": number}
        for name, part in (("disks", "disk_id"), ("configs", "config_id")):
            data = self.alice.get(f"/v4/compute/instances/{number}/{name}").json()["data"]
            found |= {part: data[0]["id"]} if data else {}
        return found

    def plan(self, endpoint: Any) -> Response:
        name = endpoint.name
        parts = dict(self.parts)
        parts |= next((self.on[sort] for sort, names in ON.items() if name in names), {})
        if name in ("delete_user", "update_user_grants"):
            parts["username"] = "bob-restricted"
        path = declared(endpoint).path
        for part in endpoint.parts:
            path = path.replace(f"{{{part}:path}}", str(parts[part])).replace(f"{{{part}}}", str(parts[part]))
        body = BODIES.get(name)
        if name in ("create_entity_transfer", "create_service_transfer"):
            body = {"entities": {"computes": [self.transferable]}}
        elif name == "restore_backup":
            body = {"compute_id": parts["compute_id"], "overwrite": True}
        client = self.plain if name == "enable_managed" or name.startswith("accept") else self.alice
        if name == "update_oauth_client_thumbnail":
            headers = {**PLAN, "Content-Type": "image/png"}
            return client.put(path, content=PICTURE, headers=headers)
        if name == "create_ticket_attachment":
            return client.post(path, files={"file": ("note.txt", b"hello", "text/plain")}, headers=PLAN)
        return client.request(endpoint.method, path, json=body, headers=PLAN)
