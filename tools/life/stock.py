"""An account that has something of everything, all of it come about as it would for a customer."""

from __future__ import annotations

from typing import Any

from httpx2 import Client, Response
from tests.cloud import Cloud
from tests.login.conftest import make_app
from tests.login.visitor import PASSWORD as SIGN_IN
from tests.login.visitor import Visitor, give_password

PASSWORD = "seven-Lambs-0n-a-hill"
IMAGE = {"image": "compute/debian12", "root_pass": PASSWORD}
SMALL = {"region": "us-east", "type": "g6-nanode-1"}
CARD = {"card_number": "4111111111111111", "cvv": "123", "expiry_month": 12, "expiry_year": 2099}
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8C3cV0rHWn8CqYHQGoZKZQ2wuxGzQ2nHfYqvMsNwEz alice@laptop"
PAYPAL = {"usd": "20.00", "redirect_url": "https://example.com/paid", "cancel_url": "https://example.com/cancelled"}
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db00000"
    "000049454e44ae426082"
)
ANYWHERE = {"ipv4": ["0.0.0.0/0"], "ipv6": ["::/0"]}
WEB_RULES = {
    "inbound_policy": "DROP",
    "outbound_policy": "ACCEPT",
    "inbound": [{"protocol": "TCP", "ports": "443", "addresses": ANYWHERE, "action": "ACCEPT", "label": "https"}],
}
MONTH = 32 * 86400


def stocked(cloud: Cloud, *usernames: str) -> list[Stock]:
    """Return an account for each name, with all objects after a month, on a frozen clock."""
    stocks = [Stock(cloud, username) for username in usernames]
    cloud.advance(MONTH)
    for stock in stocks:
        stock.after_a_month()
    return stocks


class Stock:
    """An account, its owner, and the ids of its objects: ``parts`` by path parameter."""

    def __init__(self, cloud: Cloud, username: str) -> None:
        self.cloud = cloud
        self.username = username
        opened = cloud.account(username=username, email=f"{username}@example.com", managed=True, public_ips=5)
        self.owner: Client = cloud.client(opened["token"])
        self.parts: dict[str, Any] = {"region_id": "us-east", "type_id": "g6-nanode-1", "username": username}
        self.parts |= {"kernel_id": "compute/grub2", "subscription_id": "longview-10"}
        self.instances: dict[str, int] = {}
        self._addresses_and_people()
        self._instances()
        self._networks()
        self._storage()
        self._support()
        self.plain: Client = cloud.person(username=f"{username}-too", email=f"{username}-too@example.com")
        """The owner of an account that has nothing yet."""

    def after_a_month(self) -> None:
        """Create short-lived objects, and store the ids of objects that time has created."""
        self._apps()
        self._latest()

    def get(self, path: str, **headers: str) -> Any:
        answer = self.owner.get(f"/v4/{path}", headers=headers)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        return answer.json()

    def post(self, path: str, **body: Any) -> Any:
        return self.done(self.owner.post(f"/v4/{path}", json=body))

    def put(self, path: str, **body: Any) -> Any:
        return self.done(self.owner.put(f"/v4/{path}", json=body))

    def done(self, answer: Response) -> Any:
        """A write that must succeed, and all that follows from it."""
        assert answer.status_code == 200, f"{answer.request.url.path}: {answer.text}"
        self.cloud.settle()
        return answer.json()

    def _addresses_and_people(self) -> None:
        about = {"first_name": self.username.capitalize(), "last_name": "Croft", "company": "Croft Supplies"}
        where = {"address_1": "1 Meadow Lane", "city": "Philadelphia", "state": "PA", "zip": "19103", "country": "US"}
        self.put("account", **about, **where, phone="215-555-0123")
        self.post("account/payment-methods", type="credit_card", is_default=False, data=CARD)
        self.post("account/users", username=f"{self.username}-helper", email=f"{self.username}-helper@example.com")
        self.helper: Client = self.cloud.client(self.cloud.token(f"{self.username}-helper"))
        """The token of a user who is restricted."""
        self.parts["key_id"] = self.post("profile/sshkeys", label="laptop", ssh_key=SSH_KEY)["id"]
        self.put("profile/preferences", theme="dark")
        self.parts["token_id"] = self.post("profile/tokens", label="backup script", scopes="computes:read_only")["id"]
        self.parts["label"] = self.post("tags", label="production")["label"]

    def _instances(self) -> None:
        main = self._instance(
            "web-1", **IMAGE, type="g6-standard-1", backups_enabled=True, private_ip=True, tags=["production"]
        )
        path = f"compute/instances/{main['id']}"
        self.parts |= {"compute_id": main["id"], "private_address": main["ipv4"][1]}
        self.parts["address"] = self.post(f"{path}/ips", type="ipv4", public=True)["address"]
        self.parts["backup_id"] = self.post(f"{path}/backups", label="before the upgrade")["id"]
        stopped = self._instance("web-2", **IMAGE, private_ip=True)
        self.post(f"compute/instances/{stopped['id']}/shutdown")
        bare = self._instance("build-1")
        self.post(f"compute/instances/{bare['id']}/disks", label="work", size=1000)
        self.cloud.fault("migration_pending", compute_id=self._instance("build-2")["id"])
        self._instance("old-1", type="g5-standard-1")
        self._instance("spare-1")
        self._instance("moving-1")
        interfaces = [{"purpose": "public"}, {"purpose": "vlan", "label": "backend", "ipam_address": "10.0.0.1/24"}]
        self._instance("inside-1", **IMAGE, region="ca-central", interfaces=interfaces)

    def _instance(self, label: str, **more: Any) -> Any:
        made = self.post("compute/instances", **{**SMALL, "label": label, **more})
        self.instances[label] = made["id"]
        return made

    def on(self, label: str) -> dict[str, Any]:
        """The parts of a path to another instance, and to its first disk and profile."""
        number = self.instances[label]
        parts = {"compute_id": number}
        for kind, part in (("disks", "disk_id"), ("configs", "config_id")):
            listed = self.get(f"compute/instances/{number}/{kind}")["data"]
            parts |= {part: listed[0]["id"]} if listed else {}
        return parts

    def _networks(self) -> None:
        number = self.parts["compute_id"]
        made = self.post("networking/ipv6/ranges", compute_id=number, prefix_length=64)
        self.parts["range"] = made["range"].partition("/")[0]
        firewall = self.post("networking/firewalls", label="public", rules=WEB_RULES, devices={"computes": [number]})
        self.parts["firewall_id"] = firewall["id"]
        node = {"address": f"{self.parts['private_address']}:80", "label": "web-1"}
        balancer = self.post("nodebalancers", region="us-east", label="front", configs=[{"port": 80, "nodes": [node]}])
        self.parts["nodebalancer_id"] = balancer["id"]
        domain = self.post(
            "domains", type="master", domain=f"{self.username}.example", soa_email="hostmaster@example.com"
        )
        record = self.post(f"domains/{domain['id']}/records", type="A", name="www", target="203.0.113.7")
        self.parts |= {"domain_id": domain["id"], "record_id": record["id"]}

    def _storage(self) -> None:
        self.parts["volume_id"] = self.post("volumes", label="archive", region="us-east", size=20)["id"]
        self.held = self.post("volumes", label="data", compute_id=self.instances["web-2"])["id"]
        self.parts["image_id"] = self.post("images", disk_id=self.on("build-1")["disk_id"], label="golden")["id"]
        script = {"images": ["any/all"], "script": "#!/bin/sh\napt-get update\n"}
        self.parts["stackscript_id"] = self.post("compute/stackscripts", label="update", **script)["id"]
        self.parts["longview_id"] = self.post("longview/clients", label="web-1")["id"]

    def _support(self) -> None:
        about = {"summary": "The console of my instance stays black", "compute_id": self.parts["compute_id"]}
        ticket = self.post("support/tickets", **about, description="Since this morning, in every browser.")
        path = f"/v4/support/tickets/{ticket['id']}"
        self.done(self.owner.post(f"{path}/attachments", files={"file": ("steps.txt", b"1. Boot\n", "text/plain")}))
        self.done(self.owner.post(f"{path}/replies", json={"description": "It is better now."}))
        attached = self.get(f"support/tickets/{ticket['id']}")["attachments"]
        contact = self.post("managed/contacts", name="Ada", email="ada@example.com", group="on-call")
        self.parts |= {"ticket_id": ticket["id"], "filename": attached[0], "contact_id": contact["id"]}
        self.parts["credential_id"] = self.post("managed/credentials", label="database", password="sesame-0pen")["id"]
        site = {"label": "shop", "service_type": "url", "address": "https://shop.example/", "timeout": 10}
        self.parts["service_id"] = self.post("managed/services", **site)["id"]
        self.cloud.fault("probe", service_id=self.parts["service_id"], result="down")
        self.cloud.fault("maintenance", compute_id=self.instances["spare-1"])

    def _apps(self) -> None:
        """A sign-in that is remembered, and an app that was let in."""
        give_password(self.cloud, self.username)
        visitor = Visitor(self.cloud, **{"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"})
        visitor.signs_in(self.username, SIGN_IN, remember_me="on")
        app = make_app(self.cloud)
        app.redeems(app.code_from(visitor))
        client = self.post(
            "account/oauth-clients", label="Dashboard", redirect_uri="https://example.com/oauth/callback"
        )
        path = f"/v4/account/oauth-clients/{client['id']}/thumbnail"
        self.done(self.owner.put(path, content=PICTURE, headers={"Content-Type": "image/png"}))
        self.parts["client_id"] = client["id"]

    def _latest(self) -> None:
        """Store the ids of objects that time created, and of those that only lists show."""
        self.cloud.settle()
        lists = {
            "app_id": "profile/apps",
            "device_id": "profile/devices",
            "event_id": "account/events",
            "invoice_id": "account/invoices",
            "issue_id": "managed/issues",
            "login_id": "account/logins",
            "payment_id": "account/payments",
            "payment_method_id": "account/payment-methods",
        }
        for part, path in lists.items():
            listed = self.get(path)["data"]
            assert listed, f"{path} is empty"
            self.parts[part] = listed[0]["id"]
        year, month = self.get("account/invoices")["data"][0]["date"].split("-")[:2]
        self.parts |= {"year": int(year), "month": int(month)}
        moving = {"computes": [self.instances["moving-1"]]}
        self.parts["token"] = self.post("account/service-transfers", entities=moving)["token"]
        self.parts |= self.on("web-1")
        path = f"networking/firewalls/{self.parts['firewall_id']}/devices"
        self.parts["firewall_device_id"] = self.get(path)["data"][0]["id"]
        configs = f"nodebalancers/{self.parts['nodebalancer_id']}/configs"
        config = self.get(configs)["data"][0]["id"]
        self.balanced = {"config_id": config, "node_id": self.get(f"{configs}/{config}/nodes")["data"][0]["id"]}
