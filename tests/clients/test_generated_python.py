"""A Python client is generated from the document, whole and without a warning, and an instance lives by it."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crofter.edge import openapi
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud

CONFIG = Path(__file__).with_name("openapi-python-client.yaml")
PACKAGE = "generated_client"
TRIES = 30


def generate(document: Path, into: Path) -> subprocess.CompletedProcess[str]:
    tool = ["openapi_python_client", "generate", "--fail-on-warning", "--meta", "none", "--config", str(CONFIG)]
    command = [sys.executable, "-m", *tool, "--path", str(document), "--output-path", str(into)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("python_client")
    document = folder / "openapi.json"
    document.write_text(openapi.render(ENDPOINTS), encoding="utf-8")
    completed = generate(document, folder / PACKAGE)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "WARNING" not in completed.stdout + completed.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module(PACKAGE)
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def operations(generated: ModuleType) -> dict[str, Any]:
    """The module of each operation, by its name. All others are imported too: a broken one is found."""
    names = [module.name for module in pkgutil.walk_packages(generated.__path__, f"{PACKAGE}.")]
    modules = {name: importlib.import_module(name) for name in names}
    return {name.rpartition(".")[2]: module for name, module in modules.items() if hasattr(module, "sync_detailed")}


@pytest.mark.both
def test_an_instance_lives_by_the_generated_client(cloud: Cloud, generated: Any) -> None:
    calls = operations(generated)
    assert sorted(calls) == sorted(endpoint.name for endpoint in ENDPOINTS)
    models = _models()
    with generated.AuthenticatedClient(base_url=f"{cloud.url}/v4", token=cloud.account()["token"]) as client:
        body = models.InstanceCreate(
            type_="g6-nanode-1", region="us-east", image="compute/debian11", root_pass="correct-Horse-7-battery"
        )
        made = calls["create_instance"].sync(client=client, body=body)
        assert isinstance(made, models.InstanceView), made
        assert [instance.id for instance in calls["list_instances"].sync(client=client).data] == [made.id]
        cloud.settle()
        assert _running(calls, client, made.id).type_ == "g6-nanode-1"
        assert isinstance(calls["delete_instance"].sync(made.id, client=client), models.Empty)
        cloud.settle()
        gone = calls["view_instance"].sync_detailed(made.id, client=client)
        assert gone.status_code == 404
        assert gone.parsed.errors[0].reason == "Not found"


def test_the_generated_client_works_on_the_beta_path_too(cloud: Cloud, generated: Any) -> None:
    calls = operations(generated)
    with generated.AuthenticatedClient(base_url=f"{cloud.url}/v4beta", token=cloud.account()["token"]) as client:
        made = calls["create_tag"].sync(client=client, body=_models().TagCreate(label="garden"))
        assert made.label == "garden", made
        assert [tag.label for tag in calls["list_tags"].sync(client=client).data] == ["garden"]


def _models() -> Any:
    return importlib.import_module(f"{PACKAGE}.models")


def _running(calls: dict[str, Any], client: Any, number: int) -> Any:
    for _ in range(TRIES):
        instance = calls["view_instance"].sync(number, client=client)
        if instance.status == "running":
            return instance
        calls["list_events"].sync(client=client, after=10**15, wait=1)
    raise AssertionError(f"the instance is {instance.status}")
