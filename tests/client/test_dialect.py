"""The command line with a server that speaks a dialect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.conftest import Crofter
from tests.cloud import Cloud


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    file = tmp_path / "dialect.toml"
    file.write_text('[words]\ncompute = "wug"\n')
    cloud = Cloud(disguised=None, dialect=str(file))
    yield cloud
    cloud.close()


def test_commands_work_in_the_interfaces_own_words(crofter: Crofter) -> None:
    made = crofter("instances", "create", "--type=g6-nanode-1", "--region=us-east", "-o", "json").json()
    assert [each["id"] for each in crofter("instances", "list", "-o", "json").json()["data"]] == [made["id"]]
    assert crofter("instances", "view", str(made["id"]), "-o", "json").json()["label"] == f"wug{made['id']}"
    assert crofter("kernels", "view", "compute/grub2", "-o", "json").json()["id"] == "compute/grub2"
