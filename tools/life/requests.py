"""A successful request for every operation, with the objects of the stock."""

from __future__ import annotations

from typing import Any

import pyotp
from httpx2 import Response
from msgspec import Struct
from tests.drivers.dns_servers import stranger
from tests.resources.test_domain_import import sends

from crofter.edge.endpoint import Endpoint
from tools.life.stock import ANYWHERE, CARD, IMAGE, PASSWORD, PAYPAL, PICTURE, SMALL, SSH_KEY, WEB_RULES, Stock

JSON = "application/json"
FILE = {"file": ("steps.txt", b"1. Boot\n", "text/plain")}
SERVICE = {"label": "mail", "service_type": "tcp", "address": "mail.example.com:25", "timeout": 10}
BODIES: dict[str, dict[str, Any]] = {
    "cancel_account": {"comments": "The project is done. Thank you."},
    "update_account": {"company": "Croft & Daughters", "phone": "215-555-0199"},
    "update_account_settings": {"backups_enabled": True},
    "update_credit_card": CARD,
    "create_payment_method": {"type": "credit_card", "is_default": False, "data": CARD},
    "create_payment": {"usd": "20.00"},
    "stage_paypal_payment": PAYPAL,
    "redeem_promo_code": {"promo_code": "SANDBOX-100"},
    "create_user": {"username": "carol", "email": "carol@example.com", "restricted": True},
    "update_user": {"email": "office@example.com"},
    "update_user_grants": {"global": {"add_computes": True, "account_access": "read_only"}},
    "create_oauth_client": {"label": "Reports", "redirect_uri": "https://reports.example/callback"},
    "update_oauth_client": {"label": "Dashboards"},
    "create_instance": {**SMALL, **IMAGE, "label": "web-3", "tags": ["production"], "backups_enabled": True},
    "update_instance": {"label": "web-main", "tags": ["production", "shop"]},
    "clone_instance": {**SMALL, "label": "web-copy", "type": "g6-standard-1"},
    "rebuild_instance": IMAGE,
    "resize_instance": {"type": "g6-standard-2"},
    "reset_instance_password": {"root_pass": PASSWORD},
    "create_snapshot": {"label": "before the release"},
    "create_config": {"label": "Rescue kernel", "kernel": "compute/grub2", "devices": {}},
    "update_config": {"label": "Debian 12, quiet", "comments": "Boots without messages."},
    "create_disk": {"label": "data", "size": 500},
    "update_disk": {"label": "system"},
    "resize_disk": {"size": 900},
    "reset_disk_password": {"password": PASSWORD},
    "allocate_instance_ip": {"type": "ipv4", "public": False},
    "update_instance_ip": {"rdns": None},
    "update_ip": {"rdns": None},
    "create_domain": {"type": "master", "domain": "shop.example", "soa_email": "hostmaster@shop.example"},
    "import_domain": {"domain": "moved.example", "remote_nameserver": "203.0.113.53"},
    "update_domain": {"ttl_sec": 3600, "tags": ["production"]},
    "clone_domain": {"domain": "copy.example"},
    "create_domain_record": {"type": "MX", "target": "mail.example.com", "priority": 10},
    "update_domain_record": {"target": "203.0.113.8"},
    "upload_image": {"label": "own system", "region": "us-east", "description": "Built on a workstation."},
    "update_image": {"label": "golden 2"},
    "create_longview_client": {"label": "web-2"},
    "update_longview_client": {"label": "web-main"},
    "update_longview_plan": {"longview_subscription": "longview-10"},
    "update_managed_compute_settings": {"ssh": {"access": True, "user": "root", "port": 22}},
    "create_managed_contact": {"name": "Eve", "email": "eve@example.com", "phone": {"primary": "215-555-0177"}},
    "update_managed_contact": {"name": "Ada Croft"},
    "create_managed_credential": {"label": "queue", "username": "admin", "password": "0pen-sesame"},
    "update_managed_credential": {"label": "database reader"},
    "update_managed_credential_secrets": {"username": "reader", "password": "0pen-sesame"},
    "create_managed_service": SERVICE,
    "update_managed_service": {"timeout": 20, "notes": "Restart the web server first."},
    "create_firewall": {"label": "inside", "rules": WEB_RULES, "tags": ["production"]},
    "update_firewall": {"status": "disabled"},
    "update_firewall_rules": {
        "inbound_policy": "DROP",
        "inbound": [{"protocol": "TCP", "ports": "22, 443", "addresses": ANYWHERE, "action": "ACCEPT"}],
    },
    "create_nodebalancer": {"region": "us-east", "label": "api", "configs": [{"port": 80, "protocol": "http"}]},
    "update_nodebalancer": {"label": "entrance", "client_conn_throttle": 10},
    "create_nodebalancer_config": {"port": 8080, "protocol": "tcp"},
    "update_nodebalancer_config": {"algorithm": "leastconn"},
    "update_nodebalancer_node": {"weight": 100, "mode": "drain"},
    "update_profile": {"timezone": "Europe/Berlin"},
    "update_preferences": {"theme": "light", "columns": ["label", "status"]},
    "create_ssh_key": {"label": "workstation", "ssh_key": SSH_KEY.replace("laptop", "workstation")},
    "update_ssh_key": {"label": "old laptop"},
    "create_token": {"label": "monitoring", "scopes": "computes:read_only events:read_only"},
    "update_token": {"label": "backups"},
    "create_stackscript": {"label": "web server", "images": ["any/all"], "script": "#!/bin/sh\napt install nginx\n"},
    "update_stackscript": {"rev_note": "Quicker", "script": "#!/bin/sh\napt-get -q update\n"},
    "create_ticket": {"summary": "How do I reach an instance over IPv6?", "description": "From a network without it."},
    "create_ticket_reply": {"description": "It happened again at noon."},
    "create_tag": {"label": "shop"},
    "create_volume": {"label": "media", "region": "us-east", "size": 20, "tags": ["production"]},
    "update_volume": {"label": "archive-2026"},
    "clone_volume": {"label": "archive-copy"},
    "resize_volume": {"size": 40},
}
ON = {
    "web-2": (
        *("boot_instance", "delete_disk", "delete_config", "resize_disk", "reset_disk_password"),
        "reset_instance_password",
    ),
    "build-1": ("create_disk", "clone_disk", "update_disk", "enable_backups", "allocate_instance_ip"),
    "build-2": ("migrate_instance",),
    "old-1": ("mutate_instance",),
    "spare-1": ("delete_instance",),
}
"""Operations that need another instance than the first, which is running and complete."""
SOA = ("moved.example.", 300, "IN", "SOA", "ns.example.net. hostmaster.moved.example. 7 10 20 30 40")
ZONE = (SOA, ("www.moved.example.", 60, "IN", "A", "203.0.113.7"), SOA)
"""Zone on the name server for the import."""
HELPER = ("view_user_grants", "update_user_grants", "delete_user")
"""Operations on the second user of the account."""


class Request(Struct):
    """A request. ``parts`` are its path parameters by name."""

    endpoint: Endpoint
    parts: dict[str, Any]
    body: dict[str, Any] | None = None

    @property
    def path(self) -> str:
        path = self.endpoint.path
        for name, value in self.parts.items():
            path = path.replace(f"{{{name}:path}}", str(value)).replace(f"{{{name}}}", str(value))
        return f"/{'v4beta' if self.endpoint.beta else 'v4'}/{path}"


def request_of(endpoint: Endpoint, stock: Stock, *, other: Stock) -> Request:
    """``other`` is another account of the same server, which is offered something."""
    parts = {**stock.parts, **(stock.balanced if endpoint.path.startswith("nodebalancers/") else {})}
    parts |= next((stock.on(label) for label, names in ON.items() if endpoint.name in names), {})
    if endpoint.name in HELPER:
        parts["username"] = f"{stock.username}-helper"
    if endpoint.name == "detach_volume":
        parts["volume_id"] = stock.held
    if endpoint.name == "delete_payment_method":
        listed = stock.get("account/payment-methods")["data"]
        parts["payment_method_id"] = next(method["id"] for method in listed if not method["is_default"])
    if endpoint.name.startswith("accept_"):
        parts["token"] = other.parts["token"]
    body = _with_ids(endpoint.name, stock, parts)
    return Request(endpoint, {name: parts[name] for name in endpoint.parts}, body)


def _with_ids(name: str, stock: Stock, parts: dict[str, Any]) -> dict[str, Any] | None:
    """The body of a request that names other objects."""
    spare, address = stock.instances["spare-1"], stock.parts["address"]
    node = {"label": "web-1", "address": f"{stock.parts['private_address']}:8080"}
    disk, config = parts.get("disk_id"), parts.get("config_id")
    bodies: dict[str, dict[str, Any]] = {
        "create_entity_transfer": {"entities": {"computes": [spare]}},
        "create_service_transfer": {"entities": {"computes": [spare]}},
        "attach_volume": {"compute_id": stock.instances["web-1"], "persist_across_boots": True},
        "create_firewall_device": {"id": spare, "type": "compute"},
        "allocate_ip": {"type": "ipv4", "public": True, "compute_id": spare},
        "create_ipv6_range": {"compute_id": stock.instances["inside-1"], "prefix_length": 64},
        "assign_ips": {"region": "us-east", "assignments": [{"address": address, "compute_id": spare}]},
        "assign_ipv4s": {"region": "us-east", "assignments": [{"address": address, "compute_id": spare}]},
        "share_ips": {"compute_id": spare, "ips": [address]},
        "share_ipv4s": {"compute_id": spare, "ips": [address]},
        "create_nodebalancer_node": node,
        "rebuild_nodebalancer_config": {"port": 80, "protocol": "http", "nodes": [node]},
        "boot_instance": {"config_id": config},
        "reboot_instance": {"config_id": config},
        "rescue_instance": {"devices": {"sda": {"disk_id": disk}}},
        "mutate_instance": {"allow_auto_disk_resize": True},
        "migrate_instance": {"upgrade": False},
        "restore_backup": {"compute_id": parts["compute_id"], "overwrite": True},
    }
    if name == "create_image":
        return {"disk_id": stock.on("build-1")["disk_id"], "label": "build image"}
    return bodies.get(name) or BODIES.get(name)


def prepare(request: Request, stock: Stock) -> None:
    """Do the preceding operation of an operation that needs one."""
    name = request.endpoint.name
    if name == "confirm_two_factor":
        secret = stock.post("profile/tfa-enable")["secret"]
        code = pyotp.TOTP(secret).at(stock.cloud.runtime.clock.now() // 1000)
        request.body = {"tfa_code": code}
    elif name == "execute_paypal_payment":
        staged = stock.post("account/payments/paypal", **PAYPAL)
        request.body = {"payer_id": "GX7Y2", "payment_id": staged["payment_id"]}
    elif name == "enable_managed_service":
        stock.post(f"managed/services/{request.parts['service_id']}/disable")


def send(request: Request, stock: Stock) -> Response:
    endpoint = request.endpoint
    client = {"enable_managed": stock.plain, "view_grants": stock.helper}.get(endpoint.name, stock.owner)
    if endpoint.name == "import_domain":
        with stranger(sends(*ZONE)) as address:
            return client.post(request.path, json={**(request.body or {}), "remote_nameserver": address})
    if endpoint.name == "update_oauth_client_thumbnail":
        return client.put(request.path, content=PICTURE, headers={"Content-Type": "image/png"})
    if endpoint.name == "create_ticket_attachment":
        return client.post(request.path, files=FILE)
    if request.body is None:
        return client.request(endpoint.method, request.path)
    return client.request(endpoint.method, request.path, json=request.body)
