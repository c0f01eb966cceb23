"""The npm packages that the built console contains: their licence texts, and their part of the bill of materials.

``python tools/npm_packages.py FILE`` adds them to a CycloneDX file.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

CONSOLE = Path(__file__).parents[1] / "console"
ONLY_BUILD = ("vite", "@vitejs/plugin-react")
"""Dependencies that build the console, and of which nothing gets into its files."""
TEXTS = ("LICENSE*", "LICENCE*", "license*", "COPYING*", "UNLICENSE*", "NOTICE*")
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
"""For packages under this licence that were published without its text."""


@dataclass(frozen=True)
class Package:
    """A package of the lock file."""

    name: str
    version: str
    licence: str
    integrity: str
    folder: str

    @property
    def purl(self) -> str:
        return f"pkg:npm/{quote(self.name, safe='/')}@{self.version}"


def bundled(console: Path = CONSOLE) -> list[Package]:
    """Return the dependencies of the console and theirs, without those that only build it."""
    locked: dict[str, dict[str, Any]] = json.loads((console / "package-lock.json").read_text())["packages"]
    left = [("", name) for name in locked[""]["dependencies"] if name not in ONLY_BUILD]
    seen: dict[str, Package] = {}
    while left:
        parent, name = left.pop()
        folder = next((place for place in _places(parent, name) if place in locked), None)
        if folder is None or folder in seen:  # a peer that is optional
            continue
        entry = locked[folder]
        seen[folder] = Package(name, entry["version"], entry["license"], entry["integrity"], folder)
        left += [(folder, other) for kind in ("dependencies", "peerDependencies") for other in entry.get(kind, ())]
    return sorted(seen.values(), key=lambda package: (package.name, package.version))


def _places(parent: str, name: str) -> Iterator[str]:
    """Yield where Node looks for a package, nearest first."""
    while parent:
        yield f"{parent}/node_modules/{name}"
        parent = parent.rpartition("node_modules/")[0].rstrip("/")
    yield f"node_modules/{name}"


def licence_texts(console: Path = CONSOLE) -> str:
    """Return all licence texts, each with the packages that it covers."""
    parts = ["The web console of crofter contains these packages, each under its own licence."]
    for package in bundled(console):
        head = f"{package.name} {package.version} ({package.licence})"
        parts.append(f"{'=' * 80}\n{head}\n{'=' * 80}\n\n{_text(package, console / package.folder)}")
    return "\n\n".join(parts) + "\n"


def _text(package: Package, folder: Path) -> str:
    files = sorted({file for pattern in TEXTS for file in folder.glob(pattern) if file.is_file()})
    if files:
        return "\n\n".join(file.read_text(encoding="utf-8", errors="replace").strip() for file in files)
    if package.licence != "MIT":
        raise ValueError(f"{package.name} is under {package.licence}, and has no file with its text")
    author = json.loads((folder / "package.json").read_text()).get("author") or f"the authors of {package.name}"
    name = author.get("name") if isinstance(author, dict) else author
    return f"Copyright (c) {name}\n\n{MIT}"


def add_to(bill: dict[str, Any], packages: list[Package]) -> None:
    """Add packages to a CycloneDX document."""
    for package in packages:
        algorithm, _, digest = package.integrity.partition("-")
        expression = {"expression": package.licence} if " " in package.licence else {"license": {"id": package.licence}}
        component = {
            "type": "library",
            "bom-ref": package.purl,
            "name": package.name,
            "version": package.version,
            "purl": package.purl,
            "licenses": [expression],
            "hashes": [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
        }
        bill.setdefault("components", []).append(component)
        bill.setdefault("dependencies", []).append({"ref": package.purl})


def main(file: Path) -> None:
    bill = json.loads(file.read_text())
    add_to(bill, bundled())
    file.write_text(json.dumps(bill, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
