"""Requests through a proxy: the client is the proxy's last entry, and other entries are ignored."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cloud import Cloud


@pytest.fixture
def proxied() -> Iterator[Cloud]:
    cloud = Cloud(behind_proxy=True, rate_limits={"general": "3 per 1 minute"})
    cloud.freeze()
    yield cloud
    cloud.close()


def ask(cloud: Cloud, *forwarded: str) -> str:
    """Return the remaining requests of an address."""
    answer = cloud.sandbox.get("/v4/regions", headers=[("X-Forwarded-For", address) for address in forwarded])
    assert answer.status_code == 200
    assert "strict-transport-security" in answer.headers
    return str(answer.headers["x-ratelimit-remaining"])


def test_strangers_behind_a_proxy_are_told_apart(proxied: Cloud) -> None:
    assert [ask(proxied, "192.0.2.1"), ask(proxied, "192.0.2.1"), ask(proxied, "192.0.2.2")] == ["2", "1", "2"]
    assert ask(proxied, "2001:db8::1") == "2"
    assert ask(proxied, "2001:DB8:0::1") == "1"


def test_only_the_last_entry_counts(proxied: Cloud) -> None:
    assert ask(proxied, "198.51.100.7, 192.0.2.1") == "2"
    assert ask(proxied, "198.51.100.8,192.0.2.1") == "1"
    assert ask(proxied, "192.0.2.9", "192.0.2.1") == "0"


def test_what_is_no_address_is_the_proxy(proxied: Cloud) -> None:
    assert [ask(proxied), ask(proxied, "somebody"), ask(proxied, "192.0.2.1,")] == ["2", "1", "0"]


def last_writer(cloud: Cloud) -> str:
    """The address in the newest entry of the audit log, once the first user has written something."""
    headers = {"X-Forwarded-For": "192.0.2.77"}
    assert cloud.admin.post("/v4/tags", json={"label": "of-a-caller"}, headers=headers).status_code == 200
    with cloud.runtime.database.read() as db:
        return str(next(iter(db.raw("SELECT address FROM audit WHERE operation = 'create_tag'")))[0])


def test_the_audit_log_names_the_caller(proxied: Cloud) -> None:
    assert last_writer(proxied) == "192.0.2.77"


def test_without_a_proxy_the_header_is_anybodys(cloud: Cloud) -> None:
    assert last_writer(cloud) == "127.0.0.1"
