"""``Prefer: plan``: what a write would do, without doing it."""

from __future__ import annotations

from typing import Any

from httpx2 import Client, Response

from crofter.corridor import ENDPOINTS
from tests.cloud import Cloud
from tests.matrix import SSH_KEY, Matrix, declared
from tests.resources.money import CARD, done, instance, rows, stand_at
from tests.told import errors

ROOT = "correct-horse-battery"
PLAN = {"Prefer": "plan"}


def contents(cloud: Cloud) -> dict[str, list[Any]]:
    """All that the database holds, SQLite's counters too; but not the sign of life of the process itself.

    Counters of PostgreSQL are no part of a transaction: a plan leaves a gap in them, as any refused write does.
    """
    with cloud.world.database.read() as db:
        if db.dialect == "sqlite":
            names = db.raw("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        else:
            names = db.raw("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        found = sorted(name for (name,) in names if name != "worker")
        return {name: sorted(map(repr, db.raw(f'SELECT * FROM "{name}"').fetchall())) for name in found}


def plan(answer: Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["preference-applied"] == "plan"
    assert set(answer.json()) == {"plan"}
    found = dict(answer.json()["plan"])
    assert set(found) == {"events", "objects", "price", "valid"}
    assert found["valid"] is True
    return found


def test_creating_an_instance_is_planned_and_nothing_is_done(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    before = contents(cloud)
    body = {"region": "us-east", "type": "g6-standard-1", "label": "web-1", "backups_enabled": True, "tags": ["new"]}
    found = plan(alice.post("/v4/compute/instances", json=body, headers=PLAN))
    assert found["events"] == ["tag_create", "compute_create"]
    assert [(one["type"], one["label"]) for one in found["objects"]] == [("tag", "new"), ("compute", "web-1")]
    assert found["price"] == {"hourly": 0.019, "monthly": 12.5}
    assert contents(cloud) == before
    assert alice.get("/v4/compute/instances").json()["results"] == 0
    made = done(alice.post("/v4/compute/instances", json=body))
    assert (made["label"], alice.get("/v4/account/events").json()["results"]) == ("web-1", 2)


def test_a_plan_is_refused_like_the_request_itself(alice: Client, mallory: Client) -> None:
    body = {"region": "nowhere", "type": "none"}
    planned = alice.post("/v4/compute/instances", json=body, headers=PLAN)
    real = alice.post("/v4/compute/instances", json=body)
    assert (planned.status_code, planned.content) == (real.status_code, real.content) == (400, real.content)
    number = instance(alice)
    url = f"/v4/compute/instances/{number}"
    assert mallory.delete(url, headers=PLAN).status_code == 404
    assert errors(alice.post(f"{url}/resize", json={"type": "g6-nanode-1"}, headers=PLAN))[0][1].startswith("Compute")


def test_what_happens_later_is_in_the_price_too(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    number = instance(alice, image="compute/debian12", root_pass=ROOT, backups_enabled=True)
    cloud.settle()
    url = f"/v4/compute/instances/{number}"
    resize = plan(alice.post(f"{url}/resize", json={"type": "g6-standard-1"}, headers=PLAN))
    assert resize["events"] == ["compute_resize_create", "compute_resize"]
    assert resize["price"] == {"hourly": 0.0085, "monthly": 5.5}
    assert plan(alice.delete(url, headers=PLAN))["price"] == {"hourly": -0.0105, "monthly": -7}
    assert plan(alice.post(f"{url}/backups/cancel", headers=PLAN))["price"] == {"hourly": -0.003, "monthly": -2}
    assert plan(alice.post(f"{url}/reboot", headers=PLAN))["price"] == {"hourly": 0, "monthly": 0}
    managed = plan(alice.post("/v4/account/settings/managed-enable", headers=PLAN))
    assert managed["price"] == {"hourly": 0.15, "monthly": 100}
    assert done(alice.get(url))["status"] == "running"


def test_a_transfer_tells_the_receiver_what_it_will_cost(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    number = instance(alice)
    token = done(alice.post("/v4/account/service-transfers", json={"entities": {"computes": [number]}}))["token"]
    bob = cloud.person(username="bob-receives")
    found = plan(bob.post(f"/v4/account/service-transfers/{token}/accept", headers=PLAN))
    assert found["price"] == {"hourly": 0.0075, "monthly": 5}
    assert done(bob.get(f"/v4/account/service-transfers/{token}"))["status"] == "pending"


def test_no_money_moves_in_a_plan(cloud: Cloud, alice: Client) -> None:
    stand_at(cloud, "2027-03-01T00:00:00")  # so that no month ends on the way
    instance(alice)
    cloud.advance(3600)
    before = contents(cloud)
    assert plan(alice.post("/v4/account/payments", json={"usd": "20.00"}, headers=PLAN))["events"] == [
        "payment_submitted"
    ]
    assert plan(alice.post("/v4/account/credit-card", json=CARD, headers=PLAN))["events"] == ["credit_card_updated"]
    assert plan(alice.post("/v4/account/cancel", headers=PLAN))["price"] == {"hourly": -0.0075, "monthly": -5}
    assert contents(cloud) == before
    assert rows(cloud, "SELECT 1 FROM simulated_charge") == []


def test_a_plan_does_not_use_up_an_idempotency_key(alice: Client) -> None:
    headers = {"Idempotency-Key": "once"}
    body = {"label": "web"}
    plan(alice.post("/v4/tags", json=body, headers={**PLAN, **headers}))
    assert alice.post("/v4/tags", json=body, headers=headers).json() == {"label": "web"}
    replayed = alice.post("/v4/tags", json=body, headers=headers)
    assert replayed.headers["idempotent-replayed"] == "true"


def test_the_preference_may_stand_among_others_and_reads_do_not_heed_it(alice: Client) -> None:
    for value in ("plan", "PLAN", "respond-async, plan", "plan; x=1, wait=5"):
        plan(alice.post("/v4/tags", json={"label": "web"}, headers={"Prefer": value}))
    done(alice.post("/v4/tags", json={"label": "web"}, headers={"Prefer": "planning"}))
    read = alice.get("/v4/tags", headers=PLAN)
    assert read.json()["results"] == 1
    assert "preference-applied" not in read.headers


# ---- every write of the house ---------------------------------------------------------------------------------------

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db00000"
    "000049454e44ae426082"
)
IMAGE = {"image": "compute/debian11", "root_pass": "Vq7!mmpx-Tolp"}
METHOD = {"type": "credit_card", "is_default": True, "data": CARD}
SERVICE = {"label": "other", "service_type": "tcp", "address": "127.0.0.1:9", "timeout": 1}
BODIES: dict[str, dict[str, Any]] = {
    "update_account": {"company": "Croft"},
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
        with cloud.world.database.write() as db:
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


def test_no_write_of_the_house_leaves_a_trace_when_it_is_only_planned(cloud: Cloud) -> None:
    planner = Planner(cloud)
    cloud.freeze()
    before = contents(cloud)
    writes = [one for one in ENDPOINTS if one.writes and not one.public]
    answers = {one.name: planner.plan(one) for one in writes}
    refused = {name: answer.text for name, answer in answers.items() if answer.status_code != 200}
    assert set(refused) == NEEDS_MORE, refused
    assert all(plan(answer)["valid"] for name, answer in answers.items() if name not in NEEDS_MORE)
    assert len(writes) > 80
    assert contents(cloud) == before
