"""Generators of clients, in the versions of their lock files, in a folder that stays from run to run."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools import node

LOCKS = Path(__file__).with_name("generators")
KEPT = LOCKS.parents[2] / ".tools" / "generators"
LIMIT = 600
"""Seconds for one installation: the npm packages are 170 MB, Java 60 MB."""


def python() -> Path:
    """Return the folder of commands of a Python environment with openapi-generator and what its clients import."""
    return _current(KEPT / "python", "requirements.txt", _install_python) / "bin"


def npm() -> Path:
    """Return the folder of the npm packages."""
    return _current(KEPT / "npm", "package-lock.json", _install_npm) / "node_modules"


def _current(folder: Path, lock: str, install: Callable[[Path, Path], None]) -> Path:
    """Install into an empty folder unless the installed lock file is the current one. Other test processes wait."""
    done = folder / "installed"
    with _alone(folder.name):
        if not done.exists() or done.read_bytes() != (LOCKS / lock).read_bytes():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            install(folder, LOCKS / lock)
            shutil.copy(LOCKS / lock, done)
    return folder


@contextmanager
def _alone(name: str) -> Iterator[None]:
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install_python(folder: Path, lock: Path) -> None:
    run(folder, sys.executable, "-m", "venv", ".")
    run(folder, "bin/pip", "install", "--quiet", "--require-hashes", "--requirement", str(lock))


def _install_npm(folder: Path, lock: Path) -> None:
    command = node.npm()
    assert command is not None, "there is no Node with npm here that is new enough: make node"
    for file in (lock, lock.with_name("package.json")):
        shutil.copy(file, folder)
    run(folder, *command, "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def run(folder: Path, *command: str) -> str:
    """Return all output of a command that succeeds."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=node.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout}"
    return done.stdout
