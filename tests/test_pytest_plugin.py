"""The pytest plugin: the tests of its page pass as they are written there, and its server ends with them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from tests.served import environment, serving

PAGE = Path(__file__).resolve().parent.parent / "docs" / "testing.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
DEADLINE = 120


def pytest_in(folder: Path, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags]
    return subprocess.run(
        command, cwd=folder, env=environment(**env), capture_output=True, text=True, timeout=DEADLINE, check=False
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create a project with the conftest of the page."""
    (tmp_path / "conftest.py").write_text(BLOCKS[0])
    return tmp_path


@pytest.mark.parametrize("flags", [(), pytest.param(("-n", "2"), marks=pytest.mark.soak)])
def test_the_tests_of_the_page_pass(project: Path, flags: tuple[str, ...]) -> None:
    for number, block in enumerate(BLOCKS[1:]):
        (project / f"test_{number}.py").write_text(block)
    ended = pytest_in(project, *flags, CROFTER_MODE="production")  # the settings of the machine change nothing
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "5 passed" in ended.stdout


def test_the_tests_of_the_page_pass_against_a_sandbox_with_a_key(project: Path) -> None:
    for number, block in enumerate(BLOCKS[1:]):
        (project / f"test_{number}.py").write_text(block)
    key = "a-key-of-the-sandbox"
    with serving("--data", ":memory:", env={"CROFTER_SANDBOX_KEY": key}) as process:
        ended = pytest_in(project, "-p", "no:xdist", "--crofter-url", process.url, CROFTER_SANDBOX_KEY=key)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "5 passed" in ended.stdout


PUT_BACK = """
import json
import urllib.request


def ask(url, body=None, method=None):
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, sent, {"Content-Type": "application/json"}, method=method)
    return json.load(urllib.request.urlopen(request))


def test_first(crofter, cloud_account, cloud_clock, cloud_faults):
    assert crofter.sandbox == crofter.url + "/_sandbox" and cloud_account.url == crofter.url
    assert cloud_clock.freeze()["mode"] == "frozen"
    cloud_faults.add("region_outage", region="us-east")
    cloud_faults.add("http", status=503, times=1000)
    ask(f"{crofter.sandbox}/transitions", {"*": {"seconds": 99}}, "PUT")


def test_second(crofter):
    assert ask(f"{crofter.sandbox}/clock")["mode"] == "real"
    assert ask(f"{crofter.sandbox}/faults") == []
    assert ask(f"{crofter.sandbox}/transitions")["compute_create"] == {"seconds": 3.0}


def test_third(cloud_faults, cloud_account):
    cloud_faults.add("http", status=503, times=1000)
    cloud_faults.clear()
    request = urllib.request.Request(cloud_account.url + "/v4/profile")
    request.add_header("Authorization", "Bearer " + cloud_account.token)
    assert json.load(urllib.request.urlopen(request))["username"] == cloud_account.username


def test_without_a_cloud():
    pass
"""


def test_what_tests_share_is_put_back_after_each(project: Path) -> None:
    (project / "test_shared.py").write_text(PUT_BACK)
    ended = pytest_in(project, "-p", "no:randomly", "-p", "no:xdist")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_sandbox_that_serves_already_can_be_used(project: Path) -> None:
    key = "a-key-of-the-sandbox"
    (project / "test_shared.py").write_text(
        "def test_url(crofter, cloud_account, pytestconfig):\n"
        "    assert crofter.url == cloud_account.url == pytestconfig.getoption('--crofter-url')\n"
    )
    with serving("--data", ":memory:", env={"CROFTER_SANDBOX_KEY": key}) as process:
        ended = pytest_in(project, "--crofter-url", process.url, CROFTER_SANDBOX_KEY=key)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert process.client().get("/v4/profile").status_code == 200  # still running


@pytest.mark.parametrize("tests", [1, 30])
def test_an_address_where_nothing_serves_ends_the_run_in_one_line(project: Path, tests: int) -> None:
    (project / "test_many.py").write_text("".join(f"def test_{at}(cloud_account):\n    pass\n" for at in range(tests)))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    ended = pytest_in(project, "--crofter-url", url)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = (ended.stdout + ended.stderr).strip().splitlines()
    assert line.startswith(f"ERROR: --crofter-url: {url} cannot be reached: ")


def test_a_key_that_is_missing_ends_the_run_in_one_line(project: Path) -> None:
    (project / "test_many.py").write_text("def test_account(cloud_account):\n    pass\n")
    with serving("--data", ":memory:", env={"CROFTER_SANDBOX_KEY": "a-key-of-the-sandbox"}) as process:
        ended = pytest_in(project, "--crofter-url", process.url)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = (ended.stdout + ended.stderr).strip().splitlines()
    assert "X-Sandbox-Key" in line


HELD = """
import time


def test_for_long(crofter):
    with open("address", "w") as file:
        file.write(crofter.url)
    time.sleep(300)
"""


def test_the_server_dies_with_pytest_even_if_that_is_killed(project: Path) -> None:
    (project / "test_held.py").write_text(HELD)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    tests = subprocess.Popen(command, cwd=project, env=environment(), stdout=subprocess.DEVNULL)
    address = project / "address"
    try:
        assert within(DEADLINE, lambda: address.exists() and bool(address.read_text()))
        url = address.read_text()
        assert httpx2.get(f"{url}/health/live", timeout=30).status_code == 200
    finally:
        os.kill(tests.pid, signal.SIGKILL)
        tests.wait(30)
    assert within(60, lambda: not answers(url))


def answers(url: str) -> bool:
    try:
        httpx2.get(f"{url}/health/live", timeout=5)
    except httpx2.TransportError:
        return False
    return True


def within(seconds: float, condition: object) -> bool:
    assert callable(condition)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_the_plugin_loads_nothing_of_the_server() -> None:
    code = "import sys, crofter.pytest_plugin; print(sorted(n for n in sys.modules if n.startswith('crofter')))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "['crofter', 'crofter.pytest_plugin']"
