"""Licences of what a release brings along: named on the page, in the files of the console, in the bill of materials."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from tools import npm_packages

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "licences.md").read_text()


def needed() -> set[str]:
    """Return the dependencies of crofter, direct and indirect."""
    names: set[str] = set()
    left = ["crofter"]
    while left:
        name = left.pop()
        try:
            wanted = distribution(name).requires or []
        except PackageNotFoundError:  # for another system or Python
            continue
        if name in names:
            continue
        names.add(name)
        plain = [line for line in wanted if "extra ==" not in line or name == "psycopg"]
        left += [match[0].lower() for line in plain if (match := re.match(r"[\w.-]+", line))]
    return names


def test_every_package_under_the_lgpl_is_named() -> None:
    for name in needed():
        metadata = distribution(name).metadata
        licences = [*(metadata.get_all("License-Expression") or []), *(metadata.get_all("Classifier") or [])]
        licences += [text[:80] for text in metadata.get_all("License") or []]
        if any("GPL" in line for line in licences):
            assert re.search(rf"\b{name}\b", PAGE), f"{name} is under {licences}"


def test_the_bill_of_materials_has_what_the_console_contains() -> None:
    bill: dict[str, Any] = {"components": [{"name": "msgspec"}]}
    npm_packages.add_to(bill, npm_packages.bundled())
    _, *added = bill["components"]
    names = {component["name"] for component in added}
    assert {"react", "react-dom", "scheduler", "@mantine/core", "@fontsource-variable/inter", "uplot"} <= names
    assert not names & {"vite", "rolldown", "lightningcss", "typescript", "vitest"}
    assert "pkg:npm/%40mantine/core@9" in json.dumps(added)
    for component in added:
        assert component["purl"].startswith("pkg:npm/"), component
        assert component["licenses"][0], component
        (digest,) = component["hashes"]
        assert (digest["alg"], len(digest["content"])) == ("SHA-512", 128), component


@pytest.fixture
def console(tmp_path: Path) -> Path:
    """A console with a package that has a licence text, and one without under a licence to be given."""
    locked = {
        "": {"dependencies": {"one": "1", "vite": "8"}},
        "node_modules/one": {
            "version": "1.0.0",
            "license": "ISC",
            "integrity": "sha512-",
            "dependencies": {"two": "2"},
        },
        "node_modules/one/node_modules/two": {"version": "2.0.0", "license": "MIT", "integrity": "sha512-"},
        "node_modules/vite": {"version": "8.0.0", "license": "MIT", "integrity": "sha512-"},
    }
    (tmp_path / "package-lock.json").write_text(json.dumps({"packages": locked}))
    two = tmp_path / "node_modules" / "one" / "node_modules" / "two"
    two.mkdir(parents=True)
    (two / "package.json").write_text('{"author": {"name": "Ada"}}')
    (two.parents[1] / "LICENSE.md").write_text("The ISC text of one")
    return tmp_path


def test_every_package_of_the_console_has_its_licence_text(console: Path) -> None:
    texts = npm_packages.licence_texts(console)
    assert "one 1.0.0 (ISC)" in texts
    assert "The ISC text of one" in texts
    assert "two 2.0.0 (MIT)" in texts
    assert "Copyright (c) Ada" in texts
    assert "vite" not in texts
    (console / "node_modules" / "one" / "LICENSE.md").unlink()
    with pytest.raises(ValueError, match="one is under ISC"):
        npm_packages.licence_texts(console)
