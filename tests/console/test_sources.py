"""The console's own unit tests, and that its types fit the description of the interface."""

from __future__ import annotations

import subprocess

import pytest
from tools import console, node


def npm(*command: str) -> None:
    program = node.npm()
    if program is None or not console.is_installed(checking=True):
        pytest.skip("what checks the console is not installed: python tools/console.py --check")
    how = {"cwd": console.CONSOLE, "env": node.environment(), "capture_output": True, "text": True}
    done = subprocess.run([*program, "run", "--silent", *command], check=False, **how)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("built")
def test_the_parts_of_the_console_do_what_they_promise() -> None:
    npm("test")


@pytest.mark.soak  # half a minute of one core
@pytest.mark.usefixtures("built")
def test_the_console_fits_the_description_of_the_interface() -> None:
    npm("api")
    npm("check")
