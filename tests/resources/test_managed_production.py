"""Addresses for monitoring in production mode, where this machine's own are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from crofter.config import load
from crofter.resources.managed.services import policy
from tests.cloud import Cloud
from tests.observed import errors
from tests.resources.compute import refused

PATH = "/v4/managed/services"
NETWORKS = "us-east=192.168.128.0/17 us-east=10.1.0.0/16 eu-west=10.2.0.0/16"


@pytest.fixture(scope="module")
def production() -> Iterator[Cloud]:
    cloud = Cloud(
        mode="production",
        secret_key="a phrase of more than thirty-two characters",
        base_url="https://cloud.example",
    )
    assert cloud.admin.post("/v4/account/settings/managed-enable").status_code == 200
    yield cloud
    cloud.close()


def sent(cloud: Cloud, address: str, service_type: str = "url", **more: Any) -> Any:
    body = {"label": "web", "service_type": service_type, "address": address, "timeout": 5, **more}
    return cloud.admin.post(PATH, json=body)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://[::1]/",
        "http://100.64.0.1/",
        "http://169.254.169.254/",
        "http://example.org:6379/",
        "http://foo.internal/",
        "http://2130706433/",
    ],
)
def test_an_address_of_the_service_is_refused(production: Cloud, address: str) -> None:
    answer = sent(production, address)
    assert answer.status_code == 400
    [(field, reason)] = errors(answer)
    assert field == "address"
    assert reason.startswith("address is not valid: ")


def test_a_plain_connection_to_the_service_is_refused(production: Cloud) -> None:
    reason = "address is not valid: 127.0.0.1 is not a public address"
    refused(sent(production, "127.0.0.1:22", "tcp"), reason, "address")
    assert sent(production, "example.org:6379", "tcp").status_code == 200


def test_a_private_address_is_taken_with_its_region(production: Cloud) -> None:
    refused(sent(production, "http://192.168.200.5/"), "region is required", "region")
    assert sent(production, "http://192.168.200.5/", region="us-east").status_code == 200


def test_a_private_address_is_let_in_by_the_networks_of_its_region_alone() -> None:
    production = {"mode": "production", "secret_key": "x" * 64, "base_url": "https://cloud.example"}
    settings = load({**production, "probe_networks": NETWORKS}, {})
    assert policy.allowed(settings, None) == ()
    assert policy.allowed(settings, "us-east") == ("192.168.128.0/17", "10.1.0.0/16")
    assert policy.allowed(settings, "eu-west") == ("10.2.0.0/16",)
    assert policy.allowed(settings, "ap-south") == ()
    assert policy.allowed(load({"mode": "sandbox"}, {}), None) == ("127.0.0.0/8", "::1/128")


def test_an_account_has_so_many_services(production: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    from crofter.resources.managed.services import rules

    monkeypatch.setattr(rules, "MOST", 0)
    refused = sent(production, "http://example.org/")
    assert refused.json() == {"errors": [{"reason": "Account Limit reached. Please open a support ticket."}]}
