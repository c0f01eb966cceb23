"""Clients by four more generators, each with three calls: one without a token, one with a token, and a refused one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from crofter.edge import openapi
from crofter.registry import ENDPOINTS
from tests.clients import installed
from tests.clients.installed import run
from tests.cloud import Cloud
from tests.document import text_in_a_dialect

pytestmark = pytest.mark.soak  # they install 250 MB, and take two minutes of a core

CALLS = Path(__file__).with_name("generators")
DOCUMENT = "openapi.json"
KNOWN_WARNINGS = (
    "OpenAPI 3.1 support is still in beta",
    "Codegen property is null (e.g. map/dict of undefined type)",
    "Failed to get the schema name: null",
)
"""Beginnings of what openapi-generator remarks: on 3.1 itself, on values of any type, and on schemas without a name."""
GENERATORS = {
    "hey_api": ("openapi-ts", "--input", DOCUMENT, "--output", "client", "--client", "@hey-api/client-fetch"),
    "swagger_typescript_api": (
        "swagger-typescript-api",
        "generate",
        *("--path", DOCUMENT, "--output", ".", "--name", "client.ts"),
    ),
    "orval": ("orval", "--config", "orval.config.mjs"),
}
WITHOUT_PAGES = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"


@pytest.fixture(scope="module")
def server() -> Iterator[Cloud]:
    cloud = Cloud()
    yield cloud
    cloud.close()


@pytest.fixture
def called(server: Cloud) -> list[str]:
    """The arguments of the calls: the address, and the token of an account that is new."""
    server.reset()
    return [f"{server.url}/v4", server.account()["token"]]


def expected(address: str) -> str:
    regions = sorted(region["id"] for region in httpx2.get(f"{address}/regions").json()["data"])
    assert len(regions) > 1
    return f"{','.join(regions)}\ngarden\nlabel: Label must be unique among your Tags\n"


def new_warnings(output: str) -> list[str]:
    """Return the warnings of openapi-generator that are not known."""
    texts = re.findall(r"\bWARN\s+\S+ - (.*)", output)
    return [text for text in texts if not text.startswith(KNOWN_WARNINGS)]


def test_a_warning_of_a_generator_is_seen() -> None:
    known, other = KNOWN_WARNINGS[2], "Another one: null"
    lines = f"[main] WARN  o.o.c.u.ModelUtils - {known}\n[main] WARN  o.o.c.Other - {other}"
    assert new_warnings(lines) == [other]


def generate_python(folder: Path) -> Path:
    """Return the Python that has a client of the document in the folder, without a new warning of the generator."""
    commands = installed.python()
    options = ("--generator-name", "python", "--input-spec", DOCUMENT, "--output", ".", "--package-name")
    command = [str(commands / "openapi-generator-cli"), "generate", *options, "generated_client"]
    assert new_warnings(run(folder, *command, "--global-property", WITHOUT_PAGES)) == []
    shutil.copy(CALLS / "openapi_generator.py", folder)
    return commands / "python"


def test_a_python_client_by_openapi_generator(tmp_path: Path, called: list[str]) -> None:
    """Regions are listed without a token, a tag is created with one, and the same tag again is refused by its field."""
    (tmp_path / DOCUMENT).write_text(openapi.render(ENDPOINTS), encoding="utf-8")
    python = generate_python(tmp_path)
    assert run(tmp_path, str(python), "openapi_generator.py", *called) == expected(called[0])


def test_a_python_client_by_openapi_generator_in_a_dialect(tmp_path: Path) -> None:
    (tmp_path / DOCUMENT).write_text(text_in_a_dialect(tmp_path), encoding="utf-8")
    assert run(tmp_path, str(generate_python(tmp_path)), "openapi_generator.py") == ""


def compile_typescript(generator: str, folder: Path) -> None:
    """Generate a client and compile it with its calls, under strict rules; an error or a warning fails."""
    commands = installed.npm() / ".bin"
    for name in ("orval.config.mjs", "address.ts", "tsconfig.json"):
        shutil.copy(CALLS / name, folder)
    shutil.copy(CALLS / f"{generator}.ts", folder / "calls.ts")
    tool, *options = GENERATORS[generator]
    assert "warn" not in run(folder, str(commands / tool), *options).lower()
    assert run(folder, str(commands / "tsc"), "--project", ".") == ""


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_typescript_client(generator: str, tmp_path: Path, called: list[str]) -> None:
    """Regions are listed without a token, a tag is created with one, and the same tag again is refused by its field."""
    (tmp_path / DOCUMENT).write_text(openapi.render(ENDPOINTS), encoding="utf-8")
    compile_typescript(generator, tmp_path)
    assert run(tmp_path, "node", "built/calls.js", *called) == expected(called[0])


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_typescript_client_in_a_dialect(generator: str, tmp_path: Path) -> None:
    (tmp_path / DOCUMENT).write_text(text_in_a_dialect(tmp_path), encoding="utf-8")
    compile_typescript(generator, tmp_path)
