"""Database cost of a job, which must not depend on other objects of the account."""

from __future__ import annotations

import pytest
from httpx2 import Client

from crofter.resources.billing import meters, traffic
from crofter.resources.billing.meters import Meter
from tests import steps, sweep
from tests.cloud import Cloud

FEW, MANY = 2, 100
SLACK = 1.1
"""Trees are a little deeper where there is more in them."""
OTHERS = {"host_reboot": "begins when a day has passed, in which the server looks after every instance"}
"""Jobs that cannot be had without other work."""
JOBS = [kind for kind in sweep.SCENARIOS if kind not in OTHERS]


def _costs(patch: pytest.MonkeyPatch, siblings: int, jobs: list[str]) -> dict[str, int]:
    """Return the cost of each job next to so many instances."""
    cloud = Cloud()
    try:
        steps.still(cloud)
        assert cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 0}}).status_code == 200
        owner = cloud.person()
        for _ in range(siblings):
            made = owner.post("/v4/compute/instances", json={**sweep.NEW, "type": "g6-standard-1"})
            assert made.status_code == 200, made.text
        cloud.settle()
        return {kind: _cost(patch, cloud, owner, kind) for kind in jobs}
    finally:
        cloud.close()


def _cost(patch: pytest.MonkeyPatch, cloud: Cloud, owner: Client, kind: str) -> int:
    machine = sweep.Machine(cloud, owner)
    sweep.SCENARIOS[kind].before(machine)
    cloud.settle()
    with patch.context() as watching:
        taken = steps.watch(watching, cloud)
        answer = sweep.SCENARIOS[kind].act(machine)
        cloud.settle()
    assert answer.status_code == 200, answer.text
    return taken.total()


def test_a_job_costs_no_more_in_a_large_account(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (_costs(monkeypatch, siblings, JOBS) for siblings in (FEW, MANY))
    assert {kind: (few[kind], many[kind]) for kind in JOBS if many[kind] > SLACK * few[kind]} == {}


def test_a_job_that_goes_through_the_account_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_of_them(ctx: object, account_id: int, first: int, _ids: object = None) -> list[Meter]:
        return meters.since(ctx.db, account_id, first)  # type: ignore[attr-defined]

    monkeypatch.setattr(traffic, "_plans", all_of_them)
    few, many = (_costs(monkeypatch, siblings, ["compute_delete"]) for siblings in (FEW, MANY))
    assert many["compute_delete"] > SLACK * few["compute_delete"]
