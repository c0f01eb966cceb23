"""Build the console if its sources are newer than what was built: ``npm ci``, then Vite.

Where npm cannot be reached, one line says so, and the server is served without a console.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tools import node, npm_packages

CONSOLE = Path(__file__).parents[1] / "console"
BUILT = CONSOLE / "dist" / "index.html"
LICENCES = CONSOLE / "dist" / "licences.txt"
INSTALLED = CONSOLE / "node_modules" / ".package-lock.json"
PATIENCE = 300


def sources() -> Iterator[Path]:
    yield from (path for path in (CONSOLE / "src").rglob("*") if path.is_file() and path.name != "schema.d.ts")
    yield from (path for path in (CONSOLE / "public").rglob("*") if path.is_file())
    yield from (CONSOLE / name for name in ("index.html", "package.json", "package-lock.json", "vite.config.ts"))


def is_built() -> bool:
    return (
        LICENCES.is_file()
        and BUILT.is_file()
        and BUILT.stat().st_mtime >= max(path.stat().st_mtime for path in sources())
    )


def is_installed(*, checking: bool) -> bool:
    """True if the packages of the lock file are installed; ``checking``: including those for checks."""
    locked = CONSOLE / "package-lock.json"
    if not INSTALLED.is_file() or INSTALLED.stat().st_mtime < locked.stat().st_mtime:
        return False
    return not checking or (CONSOLE / "node_modules" / "typescript").is_dir()


def build(*, checking: bool = False) -> str:
    """Build what is not built. What went wrong, or nothing."""
    if is_built() and (not checking or is_installed(checking=True)):
        return ""
    npm = node.npm()
    if npm is None:
        return f"there is no Node {node.NEEDED[0]}.{node.NEEDED[1]} or newer"
    install = [*npm, "ci", "--no-audit", "--no-fund", "--fetch-retries=1", *([] if checking else ["--omit=dev"])]
    steps = [] if is_installed(checking=checking) else [install]
    steps += [] if is_built() else [[*npm, "run", "build", "--silent"]]
    for step in steps:
        if problem := _run(step):
            return problem
    LICENCES.write_text(npm_packages.licence_texts(), encoding="utf-8")
    os.utime(BUILT)
    return ""


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, cwd=CONSOLE, env=node.environment(), capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"`npm {command[-1]}` took longer than {PATIENCE} seconds"
    if done.returncode == 0:
        return ""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return "\n".join(lines[-8:]) or f"npm ended with {done.returncode}"


def main() -> int:
    if not is_built():
        print("building the console, which takes half a minute the first time", file=sys.stderr)
    if problem := build(checking="--check" in sys.argv):
        print(f"the console was not built; everything else works without it.\n{problem}", file=sys.stderr)
        return 1 if "--must" in sys.argv else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
