"""A TypeScript client is generated from the document, compiles under every strict rule, and works."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tools import node

from crofter.edge import openapi
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud

HERE = Path(__file__).with_name("typescript")
KEPT = HERE.parents[2] / "build" / "typescript"
"""Where the packages stay from run to run."""
SOURCES = ("package.json", "package-lock.json", "tsconfig.json", "life.ts")

NPM = node.npm()
pytestmark = pytest.mark.skipif(NPM is None, reason="there is no Node with npm here that is new enough")


def run(*command: str) -> str:
    done = subprocess.run(
        command, cwd=KEPT, env=node.environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"
    assert "warning" not in (done.stdout + done.stderr).lower()
    return done.stdout


@pytest.fixture(scope="module")
def installed() -> Path:
    """The generator and the compiler, of the versions in the lock file."""
    locked = KEPT / "package-lock.json"
    current = locked.exists() and locked.read_bytes() == (HERE / "package-lock.json").read_bytes()
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        shutil.copy(HERE / name, KEPT / name)
    if not (current and (KEPT / "node_modules" / ".package-lock.json").exists()):
        _install()
    return KEPT


def _install() -> None:
    assert NPM is not None
    command = [*NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0", "--fetch-timeout=10000"]
    try:
        done = subprocess.run(
            command, cwd=KEPT, env=node.environment(), capture_output=True, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the packages could not be fetched within a minute")
    if done.returncode:
        pytest.skip(f"npm cannot fetch the packages: {done.stderr[-300:]}")


@pytest.fixture(scope="module")
def compiled(installed: Path) -> None:
    tools = installed / "node_modules" / ".bin"
    (installed / "openapi.json").write_text(openapi.render(ENDPOINTS), encoding="utf-8")
    run(str(tools / "openapi-typescript"), "openapi.json", "--output", "interface.d.ts")
    run(str(tools / "tsc"), "--project", ".")


@pytest.mark.both
@pytest.mark.usefixtures("compiled")
def test_an_instance_lives_by_the_generated_types(cloud: Cloud) -> None:
    token = cloud.account()["token"]
    assert run("node", "built/life.js", f"{cloud.url}/v4", token, f"{cloud.url}/_sandbox/settle") == "Not found\n"
