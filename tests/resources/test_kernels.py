"""Kernels, through HTTP."""

from __future__ import annotations

import json

import pytest
from httpx2 import Client

from tests.cloud import Cloud


def test_kernels_are_listed_for_everybody_in_the_order_of_their_ids(cloud: Cloud) -> None:
    page = cloud.client(None).get("/v4/compute/kernels").json()
    ids = [kernel["id"] for kernel in page["data"]]
    assert page["results"] == len(ids)
    assert ids == sorted(ids)
    assert {f"compute/{name}" for name in ("latest-64bit", "latest-32bit", "grub2", "direct-disk", "grub-legacy")} <= {
        *ids
    }


@pytest.mark.parametrize("slug", ["compute/latest-64bit", "compute%2Flatest-64bit", "compute%2flatest-64bit/"])
def test_a_kernel_is_viewed_by_an_id_with_a_slash(alice: Client, slug: str) -> None:
    answer = alice.get(f"/v4/compute/kernels/{slug}")
    assert answer.status_code == 200, answer.text
    assert answer.json() == {
        "architecture": "x86_64",
        "built": "2022-03-14T13:45:00",
        "deprecated": False,
        "id": "compute/latest-64bit",
        "kvm": True,
        "label": "Latest 64 bit (5.16.13-x86_64-compute154)",
        "pvops": True,
        "version": "5.16.13",
        "xen": False,
    }


@pytest.mark.parametrize("slug", ["compute/no-such-kernel", "latest-64bit", "compute", "compute/latest-64bit/more"])
def test_an_unknown_kernel_is_not_found(alice: Client, slug: str) -> None:
    answer = alice.get(f"/v4/compute/kernels/{slug}")
    assert answer.status_code == 404
    assert answer.json() == {"errors": [{"reason": "Not found"}]}


@pytest.mark.both
def test_kernels_are_filtered(alice: Client) -> None:
    def filtered(wanted: dict[str, object]) -> list[str]:
        answer = alice.get("/v4/compute/kernels", headers={"X-Filter": json.dumps(wanted)})
        assert answer.status_code == 200, answer.text
        return [kernel["id"] for kernel in answer.json()["data"]]

    assert filtered({"label": "grub 2"}) == ["compute/grub2"]
    assert filtered({"version": "5.16.13", "architecture": "i386"}) == [
        "compute/5.16.13-x86-compute187",
        "compute/latest-32bit",
    ]
    assert filtered({"xen": True}) == []
    assert "compute/4.4.4-x86_64-compute65" in filtered({"deprecated": True, "pvops": True, "kvm": True})
    refused = alice.get("/v4/compute/kernels", headers={"X-Filter": '{"built": "2022-03-14T13:45:00"}'})
    assert refused.json() == {"errors": [{"field": "X-Filter", "reason": "Cannot filter on built"}]}
