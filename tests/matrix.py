"""Authorisation matrix: an account with an object of every kind, and callers with every kind of permission."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from httpx2 import Client, Response

from crofter import clock
from crofter.edge.endpoint import Endpoint
from crofter.registry import ENDPOINTS
from crofter.resources.billing import store as billing
from crofter.resources.logins import store as logins
from crofter.resources.managed.issues.store import issue
from crofter.resources.oauth import store as oauth
from crofter.scopes import RESOURCES
from tests.cloud import Cloud

HERE = Path(__file__).parent
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8C3cV0rHWn8CqYHQGoZKZQ2wuxGzQ2nHfYqvMsNwEz alice"
CATALOGUE = {"region_id", "type_id", "kernel_id", "image_id", "subscription_id", "year", "month"}
"""Path parameters that name public objects."""
YES_OR_NO = (
    "add_computes",
    "add_domains",
    "add_firewalls",
    "add_images",
    "add_longview",
    "add_nodebalancers",
    "add_stackscripts",
    "add_volumes",
    "longview_subscription",
)
"""Grants on the account that are held or not."""
GRANTED = ("compute", "domain", "firewall", "longview", "nodebalancer", "volume")
"""Kinds of objects on which the restricted callers have grants; the path calls each of them by kind."""
NEVER_ASKED_FOR = "databases"
"""A scope that no endpoint wants."""
CALLERS = (
    "nobody",
    "bad token",
    "expired token",
    "revoked token",
    "wrong scope",
    "read_only scope",
    "other tenant",
    "restricted, no grant",
    "restricted, read_only",
    "restricted, read_write",
    "unrestricted",
)


class Row(NamedTuple):
    """Reviewed promises for an endpoint, stored beside the code."""

    method: str
    path: str
    scope: str
    grant: str


def promised() -> list[Row]:
    lines = (HERE / "access.tsv").read_text().splitlines()[1:]
    return [Row(*line.split("\t")) for line in lines]


def declared(endpoint: Endpoint) -> Row:
    version = "v4beta" if endpoint.beta else "v4"
    return Row(endpoint.method, f"/{version}/{endpoint.path}", endpoint.scope, endpoint.grant)


class Matrix:
    """An account with an object of every kind, and tokens of all other callers."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        opened = cloud.account(username="alice", managed=True)
        self.alice = cloud.client(opened["token"])
        self.parts: dict[str, Any] = {"region_id": "us-east", "type_id": "g6-nanode-1", "year": 2026, "month": 1}
        self.parts |= {"kernel_id": "compute/grub2", "image_id": "compute/debian11", "subscription_id": "longview-10"}
        self.parts_under: dict[str, dict[str, Any]] = {}
        self._make_instance()
        self._make_things()
        self._make_nodebalancer()
        self._make_readable_by_all()
        self._insert_rows()
        self.clients = self._people(opened["token"])

    def _post(self, path: str, **body: Any) -> Any:
        answer = self.alice.post(path, json=body)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        return answer.json()

    def _make_instance(self) -> None:
        body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "backups_enabled": True}
        made = self._post("/v4/compute/instances", root_pass="Vq7!mmpx-Tolp", label="web", private_ip=True, **body)
        spare = self._post("/v4/compute/instances", type="g6-nanode-1", region="us-east", label="spare")
        self.cloud.settle()
        path = f"/v4/compute/instances/{made['id']}"
        backup = self._post(f"{path}/backups", label="before")
        self.cloud.settle()
        self.parts |= {"compute_id": made["id"], "address": made["ipv4"][0], "backup_id": backup["id"]}
        range_ = self._post("/v4/networking/ipv6/ranges", compute_id=made["id"], prefix_length=64)["range"]
        self.parts |= {"range": range_.partition("/")[0], "private_address": made["ipv4"][1]}
        self.parts["disk_id"] = self.alice.get(f"{path}/disks").json()["data"][0]["id"]
        self.parts["config_id"] = self.alice.get(f"{path}/configs").json()["data"][0]["id"]
        self.parts["token"] = self._post("/v4/account/service-transfers", entities={"computes": [spare["id"]]})["token"]

    def _make_things(self) -> None:
        self._post("/v4/tags", label="blue")
        domain = self._post("/v4/domains", type="master", domain="example.org", soa_email="admin@example.org")
        record = self._post(f"/v4/domains/{domain['id']}/records", type="A", name="www", target="192.0.2.1")
        self.parts |= {"domain_id": domain["id"], "record_id": record["id"]}
        client = self._post("/v4/account/oauth-clients", label="app", redirect_uri="https://app.example.com/back")
        credential = self._post("/v4/managed/credentials", label="root", password="sesame")
        contact = self._post("/v4/managed/contacts", name="Ada", email="ada@example.com")
        service = self._post(
            "/v4/managed/services", label="site", service_type="url", address="http://127.0.0.1:9", timeout=1
        )
        ticket = self._post("/v4/support/tickets", summary="Help", description="It hums.")
        file = {"file": ("note.txt", b"hello", "text/plain")}
        attached = self.alice.post(f"/v4/support/tickets/{ticket['id']}/attachments", files=file)
        assert attached.status_code == 200, attached.text
        self._post("/v4/account/users", username="bob-restricted", email="bob@example.com")
        longview = self._post("/v4/longview/clients", label="agent")
        key = self._post("/v4/profile/sshkeys", label="laptop", ssh_key=SSH_KEY)
        token = self._post("/v4/profile/tokens", label="spare")
        volume = self._post("/v4/volumes", label="data", region="us-east")
        self.cloud.settle()
        self._make_firewall()
        self.parts |= {
            "label": "blue",
            "client_id": client["id"],
            "credential_id": credential["id"],
            "contact_id": contact["id"],
            "service_id": service["id"],
            "ticket_id": ticket["id"],
            "filename": self.alice.get(f"/v4/support/tickets/{ticket['id']}").json()["attachments"][0],
            "username": "alice",
            "longview_id": longview["id"],
            "key_id": key["id"],
            "token_id": token["id"],
            "volume_id": volume["id"],
            "event_id": self.alice.get("/v4/account/events").json()["data"][-1]["id"],
            "payment_method_id": self.alice.get("/v4/account/payment-methods").json()["data"][0]["id"],
        }

    def _make_firewall(self) -> None:
        policies = {"inbound_policy": "DROP", "outbound_policy": "ACCEPT"}
        devices = {"computes": [self.parts["compute_id"]]}
        made = self._post("/v4/networking/firewalls", label="wall", rules=policies, devices=devices)
        listed = self.alice.get(f"/v4/networking/firewalls/{made['id']}/devices").json()["data"]
        self.parts |= {"firewall_id": made["id"], "firewall_device_id": listed[0]["id"]}

    def _make_nodebalancer(self) -> None:
        node = {"address": f"{self.parts['private_address']}:80", "label": "web"}
        made = self._post("/v4/nodebalancers", region="us-east", label="front", configs=[{"nodes": [node]}])
        path = f"/v4/nodebalancers/{made['id']}/configs"
        config = self.alice.get(path).json()["data"][0]["id"]
        node_id = self.alice.get(f"{path}/{config}/nodes").json()["data"][0]["id"]
        self.parts |= {"nodebalancer_id": made["id"], "node_id": node_id}
        self.parts_under["nodebalancers"] = {"config_id": config}

    def parts_of(self, endpoint: Endpoint) -> dict[str, Any]:
        """Return the values of path parameters: the same name may mean different objects."""
        own = self.own if endpoint.method != "GET" else {}  # reads may use public objects, writes may not
        return self.parts | self.parts_under.get(endpoint.path.partition("/")[0], {}) | own

    def _make_readable_by_all(self) -> None:
        """Insert public objects, which all callers may read and only their owner may change."""
        script = {"images": ["any/all"], "script": "#!/bin/sh\n"}
        public = self._post("/v4/compute/stackscripts", label="for all", is_public=True, **script)
        private = self._post("/v4/compute/stackscripts", label="for us", **script)
        image = self._post("/v4/images/upload", label="own", region="us-east")["image"]
        self.parts["stackscript_id"] = public["id"]
        self.own = {"image_id": image["id"], "stackscript_id": private["id"]}

    def _insert_rows(self) -> None:
        """Insert the rows that only time or the login service creates."""
        moment = clock.text(self.cloud.runtime.clock.now())
        with self.cloud.runtime.database.write() as db:
            owner = {"account_id": 2, "user_id": 2}
            self.parts["login_id"] = db.insert(
                logins.login,
                **owner,
                username="alice",
                ip="127.0.0.1",
                restricted=False,
                status="successful",
                at=moment,
            )
            self.parts["device_id"] = db.insert(
                logins.device,
                user_id=2,
                digest=b"digest",
                user_agent="browser",
                created=moment,
                expiry="2999-01-01T00:00:00",
                last_authenticated=moment,
                last_remote_addr="127.0.0.1",
            )
            self.parts["app_id"] = db.insert(oauth.authorization, **owner, client_id=1, scopes="*", created=moment)
            values = {"subtotal": 0, "tax": 0, "total": 0, "address": {}, "seller": ""}
            self.parts["invoice_id"] = db.insert(billing.invoice, account_id=2, date=moment, period="2026-01", **values)
            self.parts["payment_id"] = db.insert(
                billing.payment, account_id=2, date=moment, amount=1, reference="reference"
            )
            self.parts["issue_id"] = db.insert(
                issue, account_id=2, ticket_id=self.parts["ticket_id"], services=[1], created=moment
            )

    def _people(self, own: str) -> dict[str, Client | None]:
        cloud = self.cloud
        expired = cloud.token("alice", expires_in=1)
        cloud.advance(5)
        revoked = self._post("/v4/profile/tokens", label="gone")
        assert self.alice.delete(f"/v4/profile/tokens/{revoked['id']}").status_code == 200
        # Every resource except the one that endpoints never require.
        reading = " ".join(f"{name}:read_only" for name in RESOURCES if name != NEVER_ASKED_FOR)
        return {
            "nobody": cloud.client(None),
            "bad token": cloud.client("not-a-token"),
            "expired token": cloud.client(expired),
            "revoked token": cloud.client(revoked["token"]),
            "wrong scope": cloud.client(cloud.token("alice", f"{NEVER_ASKED_FOR}:read_write")),
            "read_only scope": cloud.client(cloud.token("alice", reading)),
            "other tenant": cloud.person(username="mallory", managed=True),
            "restricted, no grant": self._restricted(None),
            "restricted, read_only": self._restricted("read_only"),
            "restricted, read_write": self._restricted("read_write"),
            "unrestricted": cloud.client(own),
        }

    def _restricted(self, level: str | None) -> Client:
        name = f"user-{level or 'none'}".replace("_", "-")
        self._post("/v4/account/users", username=name, email=f"{name}@example.com")
        if level is not None:
            grants = {
                "global": {"account_access": level} | dict.fromkeys(YES_OR_NO, level == "read_write"),
                **{kind: [{"id": self.parts[f"{kind}_id"], "permissions": level}] for kind in GRANTED},
                "image": [{"id": int(self.own["image_id"].partition("/")[2]), "permissions": level}],
                "stackscript": [{"id": self.own["stackscript_id"], "permissions": level}],
            }
            answer = self.alice.put(f"/v4/account/users/{name}/grants", json=grants)
            assert answer.status_code == 200, answer.text
        return self.cloud.client(self.cloud.token(name))

    def ask(self, caller: str, endpoint: Endpoint, content_type: str | None = None, query: str = "") -> Response:
        """Ask in a way that changes nothing even if it is let in: a write whose body is no JSON."""
        client = self.clients[caller]
        assert client is not None
        path = declared(endpoint).path
        parts = self.parts_of(endpoint)
        for name in endpoint.parts:
            for written in (f"{{{name}}}", f"{{{name}:path}}"):
                path = path.replace(written, str(parts[name]))
        if endpoint.method == "GET" and path.endswith("/stream"):
            with client.stream("GET", path + query) as answer:
                return answer
        if endpoint.method == "GET":
            return client.get(path + query)
        kind = content_type or ("text/plain" if endpoint.upload else "application/json")
        return client.request(endpoint.method, path, content=b"{", headers={"Content-Type": kind})


def verdict(answer: Response) -> str:
    """Return the status of a refusal, or "in"."""
    return str(answer.status_code) if answer.status_code in (401, 403, 404) else "in" if _in(answer) else "broken"


def _in(answer: Response) -> bool:
    return answer.status_code in (200, 204, 400, 415)


def expected(row: Row, endpoint: Endpoint, caller: str) -> set[str]:
    """Return the allowed results for a caller, from the promises alone."""
    if row.scope == "none":
        return {"in", "404"} if "client_id" in endpoint.parts else {"in"}
    if caller in ("nobody", "bad token", "expired token", "revoked token"):
        return {"401"}
    if caller == "wrong scope":
        return {"in"} if row.scope == "*" else {"403"}
    if caller == "read_only scope":
        return {"403"} if "read_write" in row.scope else {"in"}
    own = set(endpoint.parts) - (CATALOGUE if endpoint.method == "GET" else CATALOGUE - {"image_id"})
    if caller == "other tenant":
        return _for_a_stranger(row, own)
    if caller.startswith("restricted"):
        return _for_restricted(row, own, caller.partition(", ")[2])
    return {"in"}


def _for_a_stranger(row: Row, own: set[str]) -> set[str]:
    if not own:
        return {"in"}
    if own == {"token"}:  # the token of a pending transfer is the permission to view and accept it
        return {"404"} if row.method == "DELETE" else {"in"}
    return {"404"}


def _for_restricted(row: Row, own: set[str], held: str) -> set[str]:
    kind, _, level = row.grant.partition(":")
    if kind == "unrestricted":
        return {"403"}
    if kind == "any":
        # Objects of other accounts, and objects that the caller may not see, are absent.
        return {"in", "404"} if own else {"in"}
    if kind in YES_OR_NO:
        return {"in"} if held == "read_write" else {"403"}
    enough = held == "read_write" or held == level
    return {"in"} if enough else {"403"}


def cells(matrix: Matrix, callers: tuple[str, ...] = CALLERS) -> Iterator[tuple[Row, str, str, set[str]]]:
    """Each endpoint and caller, with what happened and what should have."""
    by_name = {(row.method, row.path): row for row in promised()}
    for endpoint in ENDPOINTS:
        now = declared(endpoint)
        row = by_name[(now.method, now.path)]
        for caller in callers:
            yield row, caller, verdict(matrix.ask(caller, endpoint)), expected(row, endpoint, caller)
