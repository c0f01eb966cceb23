"""Monitoring while workers die: an outage has a single issue, ticket and mail."""

from __future__ import annotations

from pathlib import Path

import pytest
from httpx2 import Client

from crofter.engine import Step
from crofter.resources.managed.services import rounds
from tests.cloud import Cloud
from tests.observed import actions, mails
from tests.resources.monitoring import PATH, dora, issues, server, status, tickets, watch
from tests.resources.servers import Server
from tests.served import serving
from tests.sweep import planted

__all__ = ["dora", "server"]

POINTS = [(operation.kind, step) for operation in rounds.OPERATIONS for step in operation.steps]
IDS = [f"{kind}.{step.name}" for kind, step in POINTS]


def prepared(cloud: Cloud, dora: Client, address: str) -> None:
    dora.post("/v4/managed/contacts", json={"name": "Jo", "email": "jo@example.com", "group": "on-call"})
    watch(dora, address, consultation_group="on-call")


@pytest.mark.parametrize(("kind", "step"), POINTS, ids=IDS)
@pytest.mark.both
def test_a_crash_after_a_step_opens_nothing_twice(
    cloud: Cloud, dora: Client, server: Server, kind: str, step: Step
) -> None:
    if kind == rounds.FIRST_CHECK.kind:
        server.stop()
    prepared(cloud, dora, server.url)
    if kind == rounds.ROUND.kind:
        cloud.settle()
        server.stop()
    with planted(cloud, kind, step, "crash") as plant:
        cloud.advance(70)
    assert plant.fired, "the step never ran"
    assert status(dora) == "problem"
    assert (len(issues(dora)), len(tickets(dora)), len(mails(cloud))) == (1, 1, 1)
    assert actions(dora) == ["ticket_create", "managed_service_create"]
    server.start()
    with planted(cloud, rounds.ROUND.kind, rounds.look, "crash") as plant:
        cloud.advance(60)
    assert plant.fired
    assert status(dora) == "ok"
    assert (len(issues(dora)), len(tickets(dora)), len(mails(cloud))) == (1, 1, 2)
    assert len(dora.get("/v4/support/tickets/1/replies").json()["data"]) == 1


@pytest.mark.parametrize(("kind", "step"), POINTS, ids=IDS)
def test_a_failure_at_a_step_is_made_up_for_by_the_next_round(
    cloud: Cloud, dora: Client, server: Server, kind: str, step: Step
) -> None:
    server.stop()
    with planted(cloud, kind, step, "fail") as plant:
        prepared(cloud, dora, server.url)
        cloud.advance(130)
    assert plant.fired, "the step never ran"
    assert status(dora) == "problem"
    assert (len(issues(dora)), len(tickets(dora)), len(mails(cloud))) == (1, 1, 1)


def test_a_service_that_is_killed_over_a_look_takes_it_up_again(tmp_path: Path, server: Server) -> None:
    """With a real kill, between the attempts of a look: the server dies, and its successor looks again."""
    data = ("--data", str(tmp_path / "data"))
    server.reply = b""
    with serving(*data) as first:
        sandbox = first.client(None, patient=True)
        sandbox.post("/_sandbox/clock/freeze")
        owner = sandbox.post("/_sandbox/accounts", json={"username": "dora", "managed": True}).json()["token"]
        dora = first.client(owner, patient=True)
        dora.post("/v4/managed/contacts", json={"name": "Jo", "email": "jo@example.com", "group": "on-call"})
        watch(dora, server.url, timeout=255, consultation_group="on-call")
        sandbox.post("/_sandbox/clock/thaw")
        assert server.visited.wait(30)
        first.kill()
    server.stop()
    with serving(*data) as second:
        sandbox, dora = second.client(None, patient=True), second.client(owner, patient=True)
        assert dora.get(f"{PATH}/1").json()["status"] in ("pending", "problem")
        sandbox.post("/_sandbox/clock/freeze")
        sandbox.post("/_sandbox/clock/advance", json={"seconds": 150})
        assert status(dora) == "problem"
        assert len(issues(dora)) == len(tickets(dora)) == 1
        assert len(sandbox.get("/_sandbox/outbox").json()["mails"]) == 1
