"""Here every cloud speaks the dialect of ``tests/dialect.toml``, and the tests do not notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cloud import Cloud

DIALECT = Path(__file__).parent.parent / "dialect.toml"


@pytest.fixture(scope="session")
def _disguised_cloud() -> Iterator[Cloud]:
    cloud = Cloud(disguised=DIALECT)
    yield cloud
    cloud.close()


@pytest.fixture(params=["sqlite"])
def cloud(_disguised_cloud: Cloud) -> Cloud:
    _disguised_cloud.reset()
    return _disguised_cloud
