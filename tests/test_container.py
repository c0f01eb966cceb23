"""The image: its files are in order, and its steps give a server that is healthy, in a folder instead of a container.

No container engine is needed: the lines of the Dockerfile are read, and done here under another root folder. In
test_image.py an engine builds and runs the image.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
import yaml

from crofter.cli import health, parser
from crofter.config import complaints, load
from tests.served import CROFTER, environment, run_here, serving

ROOT = Path(__file__).resolve().parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICE: dict[str, Any] = COMPOSE["services"]["crofter"]
PATHS = ("/opt/crofter", "/src", "/data")
"""Folders of the image's own."""
LEFT_OUT = ("__pycache__", "dist", "node_modules")
"""Build results, which the image creates itself."""
HEALTHY_SECONDS = 60


class Line(NamedTuple):
    word: str
    rest: str


def lines() -> list[Line]:
    joined = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    return [Line(*line.split(" ", 1)) for line in joined.splitlines() if line and not line.startswith("#")]


def variables() -> dict[str, str]:
    """Return the variables of both stages, which agree."""
    return dict(pair.split("=", 1) for line in lines() if line.word == "ENV" for pair in shlex.split(line.rest))


def only(word: str) -> str:
    """The rest of the last line with a word: that of the second stage, if both have it."""
    return [line.rest for line in lines() if line.word == word][-1]


def command(rest: str) -> list[str]:
    return [str(part) for part in json.loads(rest)]


def copied() -> set[str]:
    """Return the paths that the first stage copies."""
    taken = [shlex.split(line.rest)[:-1] for line in lines() if line.word == "COPY" and "--from" not in line.rest]
    return {name for names in taken for name in names}


def settings() -> dict[str, str]:
    """The variables of the container as compose sets them, where nothing is set around it."""
    written = {name: value for name, value in SERVICE["environment"].items() if value is not None}
    defaults = {name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for name, value in written.items()}
    return {name: value for name, value in {**variables(), **defaults}.items() if name.startswith("CROFTER_")}


@pytest.mark.skipif(shutil.which("hadolint", path=str(Path(sys.executable).parent)) is None, reason="no hadolint here")
def test_the_dockerfile_has_nothing_to_complain_about() -> None:
    tool = str(Path(sys.executable).with_name("hadolint"))
    completed = subprocess.run(
        [tool, "--no-color", "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (completed.returncode, completed.stdout) == (0, "")


def test_the_container_runs_as_nobody_special_and_writes_into_its_volume_alone() -> None:
    user = re.fullmatch(r"(\d+):\d+", only("USER"))
    assert user is not None
    assert int(user[1]) > 0
    assert SERVICE["read_only"] is True
    assert SERVICE["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in SERVICE["security_opt"]
    assert SERVICE["volumes"] == [f"data:{only('VOLUME')}"]
    assert all(port.startswith("127.0.0.1:") for port in SERVICE["ports"])
    assert variables()["CROFTER_DATA"] == only("VOLUME")


def test_a_server_would_start_with_the_settings_of_the_container() -> None:
    made = load({}, settings())
    assert (made.host, made.port, made.sandbox) == ("0.0.0.0", int(only("EXPOSE")), True)
    assert made.sandbox_key
    assert "crofter" in made.allowed_hosts
    assert command(only("CMD"))[0] == "crofter"
    parser().parse_args(command(only("CMD"))[1:])


@pytest.fixture
def own() -> dict[str, str]:
    """The variables that the image sets, in a place of their own."""
    image = {name: value for name, value in variables().items() if name.startswith("CROFTER_")}
    return {**image, "CROFTER_DATA": ":memory:", "CROFTER_PORT": "0"}


def test_an_image_without_settings_serves_a_sandbox_and_prints_how_to_call_it(own: dict[str, str]) -> None:
    words = [CROFTER, *command(only("CMD"))[1:]]
    with (
        subprocess.Popen(words, env=environment(**own), stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as stack,
    ):
        assert process.stdout is not None
        stack.callback(process.kill)  # not waited for at a failure
        shown = ""
        while "try:" not in shown and (line := process.stdout.readline()):
            shown += line
        key, url, token = (
            re.search(pattern, shown)
            for pattern in (r"X-Sandbox-Key: (\S+)", r"serves on (http://127\.0\.0\.1:\d+) ", r"token +(\S+)")
        )
        assert key and url and token, shown  # noqa: PT018 - one assertion says all
        with httpx2.Client(base_url=url[1], timeout=60) as client:
            assert client.get("/v4/profile", headers={"Authorization": f"Bearer {token[1]}"}).status_code == 200
            assert client.post("/_sandbox/accounts", json={}).status_code == 401
            made = client.post("/_sandbox/accounts", json={}, headers={"X-Sandbox-Key": key[1]})
            assert made.status_code == 200, made.text
        checked = run_here("health", env={**own, "CROFTER_PORT": url[1].rpartition(":")[2]})
        assert (checked.returncode, checked.stderr) == (0, "")
        process.terminate()
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"CROFTER_MODE": "production"}, "CROFTER_SECRET_KEY"),
        ({"CROFTER_SECRET_KEY": "a" * 64}, "needs base_url"),
        ({"CROFTER_BASE_URL": "https://cloud.example"}, "CROFTER_SECRET_KEY"),
        ({"CROFTER_DATABASE": "postgresql://db/crofter"}, "CROFTER_SECRET_KEY"),
    ],
)
def test_an_image_with_part_of_a_production_server_is_no_sandbox(
    own: dict[str, str], given: dict[str, str], reason: str
) -> None:
    if "CROFTER_SECRET_KEY" in given:
        given = {**given, "CROFTER_BEHIND_PROXY": "true"}
    refused = run_here(*command(only("CMD"))[1:], env={**own, **given})
    assert refused.returncode == 1
    assert reason in refused.stderr


@pytest.mark.parametrize("given", [{}, {"CROFTER_METRICS_PORT": "0"}])
def test_the_health_check_follows_host_and_port(own: dict[str, str], given: dict[str, str]) -> None:
    check = command(only("HEALTHCHECK").partition("CMD ")[2])
    assert check[0] == "crofter"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    env = {**own, **settings(), "CROFTER_DATA": ":memory:", "CROFTER_METRICS_PORT" if given else "CROFTER_PORT": port}
    env |= {"CROFTER_PORT": "0"} if given else {}
    before = run_here(*check[1:], env=env)
    assert (before.returncode, "cannot be reached" in before.stderr) == (1, True)
    with serving("--port", env["CROFTER_PORT"], env=env):
        ready = run_here(*check[1:], env=env)
    assert (ready.returncode, json.loads(ready.stdout)["status"]) == (0, "ok")


# ---- production --------------------------------------------------------------------------------------------------


PRODUCTION: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose" / "compose.yaml").read_text())
OURS = {name: service for name, service in PRODUCTION["services"].items() if service["image"] == "crofter"}
CHOSEN = {"SECRET_KEY": "ab" * 32, "POSTGRES_PASSWORD": "correct-horse", "SITE": "cloud.example", "MAIL": "outbox"}


def filled(text: str) -> str:
    """A value of the file as compose reads it, with every variable that it needs."""
    return re.sub(r"\$\{(\w+)(?::([-?])([^}]*))?\}", lambda match: CHOSEN.get(match[1], match[3] or ""), text)


@pytest.mark.parametrize("name", OURS)
def test_every_process_of_the_production_file_would_start(name: str) -> None:
    service = OURS[name]
    words = service["command"]
    assert words[0] == "crofter"
    asked = parser().parse_args(words[1:])
    given = {key: filled(str(value)) for key, value in service["environment"].items()}
    image = {key: value for key, value in variables().items() if key.startswith("CROFTER_")}
    assert complaints({**image, **given}) == []
    made = load({"role": getattr(asked, "role", None)}, {**image, **given})
    assert (made.mode, made.behind_proxy, made.base_url) == ("production", True, "https://cloud.example")
    assert made.database == "postgresql://crofter:correct-horse@postgres/crofter"
    assert made.secret_key == CHOSEN["SECRET_KEY"]
    assert made.payment_gateway == "none"
    if asked.command == "work":
        assert made.metrics_port, "its health check has no port to call"
    assert health.address(made) is not None
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert "no-new-privileges:true" in service["security_opt"]


def test_the_production_file_has_all_roles_and_opens_the_proxy_alone() -> None:
    services = PRODUCTION["services"]
    assert {"migrate", "api", "worker", "postgres", "proxy"} == set(services)
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD", "SITE"):
        assert f"${{{name}:?" in (ROOT / "deploy" / "compose" / "compose.yaml").read_text(), "has a default"
    for waiting in ("api", "worker"):
        assert services[waiting]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    named = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", ())}
    assert {name for name in named if not name.startswith(".")} == set(PRODUCTION["volumes"])


def test_the_proxy_of_the_production_file_is_the_one_of_deploy() -> None:
    alone = (ROOT / "deploy" / "caddy" / "Caddyfile").read_text().partition("cloud.example {")[2]
    composed = (ROOT / "deploy" / "compose" / "Caddyfile").read_text().partition("{$SITE} {")[2]
    assert composed == alone.replace("127.0.0.1:8420", "api:8420")
    assert "api:8420" in composed


def test_what_is_copied_into_the_image_is_not_kept_out_of_it() -> None:
    """And nothing else gets in: neither data nor history nor what was built here."""
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored
    let_in = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert copied() == let_in
    assert all((ROOT / name).exists() for name in let_in)
    assert all(any(line.endswith(f"/{name}") for line in ignored) for name in LEFT_OUT)


def test_what_a_wheel_is_built_from_is_copied_into_the_image() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    build = project["tool"]["hatch"]["build"]
    needed = {project["project"]["readme"], build["hooks"]["custom"]["path"], "pyproject.toml", "uv.lock"}
    needed |= {package.split("/")[0] for package in build["targets"]["wheel"]["packages"]}
    assert needed <= copied()


# ---- the steps themselves -------------------------------------------------------------------------------------------


def moved(text: str, root: Path) -> str:
    """The same under another root folder."""
    return re.sub(rf"({'|'.join(PATHS)})(?=[/: \"']|$)", lambda match: f"{root}{match[1]}", text)


def built(root: Path) -> None:
    """Do each RUN and COPY of the first stage; uv itself is there already."""
    env = {**environment(), **{name: moved(value, root) for name, value in variables().items() if name != "PATH"}}
    env |= {"UV_PYTHON": sys.executable, "PATH": f"{ROOT / '.tools' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    here = root
    for line in lines()[: [line.word for line in lines()].index("FROM", 1)]:
        if line.word == "WORKDIR":
            here = Path(moved(line.rest, root))
            here.mkdir(parents=True, exist_ok=True)
        elif line.word == "COPY":
            *names, target = shlex.split(line.rest)
            for name in names:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, here / target, ignore=shutil.ignore_patterns(*LEFT_OUT))
                else:
                    (here / target).mkdir(exist_ok=True)
                    shutil.copy(ROOT / name, here / target)
        elif line.word == "RUN" and not line.rest.startswith("pip "):
            done = subprocess.run(line.rest, shell=True, cwd=here, env=env, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


@pytest.fixture
def container(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The server of the image, started as the image starts it; its variables."""
    built(tmp_path)
    shutil.rmtree(tmp_path / "src")  # the second stage has only what was installed
    (tmp_path / "data").mkdir(mode=0o700)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    env = {name: moved(value, tmp_path) for name, value in {**variables(), **settings()}.items()}
    env |= {"CROFTER_PORT": port, "PATH": f"{tmp_path}/opt/crofter/bin{os.pathsep}{os.environ['PATH']}"}
    program = shutil.which(command(only("CMD"))[0], path=env["PATH"])
    assert program == f"{tmp_path}/opt/crofter/bin/crofter"
    words = [program, *command(only("CMD"))[1:]]
    with subprocess.Popen(words, env=env, cwd=tmp_path / "data", stdout=subprocess.DEVNULL) as process:
        yield env
        process.terminate()
        assert process.wait(30) == 0


@pytest.mark.soak
def test_the_steps_of_the_image_give_a_server_that_its_health_check_finds_healthy(container: dict[str, str]) -> None:
    check = command(only("HEALTHCHECK").partition("CMD ")[2])
    asked = [str(shutil.which(check[0], path=container["PATH"])), *check[1:]]
    until = time.monotonic() + HEALTHY_SECONDS
    while (last := subprocess.run(asked, env=container, capture_output=True, text=True, check=False)).returncode:
        assert time.monotonic() < until, last.stderr
        time.sleep(0.2)
    _key_and_host_are_asked_for(f"http://127.0.0.1:{container['CROFTER_PORT']}", container["CROFTER_SANDBOX_KEY"])


def _key_and_host_are_asked_for(url: str, key: str) -> None:
    with httpx2.Client(base_url=url, timeout=60) as client:
        assert client.get("/v4/regions").status_code == 200
        assert "@mantine/core" in client.get("/console/licences.txt").raise_for_status().text
        assert "The console is not built" not in client.get("/console/").raise_for_status().text
        assert client.post("/_sandbox/accounts", json={}).status_code == 401
        with_key = {"X-Sandbox-Key": key}
        assert client.post("/_sandbox/accounts", json={}, headers={**with_key, "Host": "elsewhere"}).status_code == 403
        assert client.post("/_sandbox/accounts", json={}, headers=with_key).status_code == 200
