"""A seed: accounts and what they have, made by the first start, and come back to by every reset."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from crofter.assembly import build
from crofter.config import load
from crofter.sandbox.seed import SeedError
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.loopback import PATIENCE
from tests.served import CROFTER, environment, run, serving

SEED = """\
# two people
accounts:
  - username: ada
    password: Vq7!mmpx-Tolp
    tags:
      - label: blue
      - {label: green}
    users:
      - {username: ada-helper, email: helper@example.com, restricted: true}
    instances:
      - label: web
        type: g6-nanode-1
        region: us-east
        image: compute/alpine3.15
        root_pass: Vq7!mmpx-Tolp
        tags: [blue]
      - {label: bare, type: g6-nanode-1, region: us-east}
    tickets:
      - summary: "2026-01-01"
        description: Where is it?
  - username: bert
    card: none
"""


def written(folder: Path, text: str, name: str = "seed.yaml") -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


def token(url: str, username: str) -> httpx2.Client:
    made = httpx2.post(f"{url}/_sandbox/tokens", json={"username": username}, timeout=PATIENCE).json()["token"]
    return httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {made}"}, timeout=PATIENCE)


def resources_of_ada(url: str) -> dict[str, Any]:
    """Return ada's objects."""
    with token(url, "ada") as ada:
        lists = {
            name: ada.get(f"/v4/{path}").json()["data"]
            for name, path in {"tags": "tags", "instances": "compute/instances", "tickets": "support/tickets"}.items()
        }
        lists["users"] = ada.get("/v4/account/users").json()["data"]
    return {
        "tags": [tag["label"] for tag in lists["tags"]],
        "instances": [(instance["label"], instance["status"], instance["tags"]) for instance in lists["instances"]],
        "tickets": [ticket["summary"] for ticket in lists["tickets"]],
        "users": [user["username"] for user in lists["users"]],
    }


EXPECTED = {
    "tags": ["blue", "green"],
    "instances": [("web", "running", ["blue"]), ("bare", "offline", [])],
    "tickets": ["2026-01-01"],
    "users": ["ada", "ada-helper"],
}


def test_a_seed_is_played_once_and_a_reset_comes_back_to_it(tmp_path: Path) -> None:
    seed = written(tmp_path, SEED)
    folder = str(tmp_path / "data")
    with serving("--data", folder, "--seed", seed) as process:
        assert resources_of_ada(process.url) == EXPECTED
        with token(process.url, "ada") as ada:
            assert ada.delete("/v4/tags/blue").status_code == 200
            ada.post("/v4/tags", json={"label": "red"})
        for _ in range(2):
            assert httpx2.post(f"{process.url}/_sandbox/reset", timeout=PATIENCE).status_code == 200
            assert resources_of_ada(process.url) == EXPECTED
        assert process.client().get("/v4/account").status_code == 200  # the first user is there too
        table = httpx2.get(f"{process.url}/_sandbox/transitions", timeout=PATIENCE).json()
        assert table["compute_create"] == {"seconds": 3.0}
        assert httpx2.get(f"{process.url}/_sandbox/snapshots", timeout=PATIENCE).json() == {"snapshots": []}
        with token(process.url, "ada") as ada:
            ada.post("/v4/tags", json={"label": "red"})
    with serving("--data", folder, "--seed", seed) as process:  # the second start is no first one
        assert resources_of_ada(process.url)["tags"] == ["blue", "green", "red"]
        httpx2.post(f"{process.url}/_sandbox/reset", timeout=PATIENCE)
        assert resources_of_ada(process.url) == EXPECTED


def test_a_variable_names_the_seed_and_it_may_be_json(tmp_path: Path) -> None:
    bodies = {"accounts": [{"username": "ada", "tags": [{"label": "smile \U0001f600"}]}]}
    seed = written(tmp_path, json.dumps(bodies), "seed.json")
    with serving("--data", ":memory:", env={"CROFTER_SEED_FILE": seed}) as process:
        assert resources_of_ada(process.url)["tags"] == ["smile \U0001f600"]
    for indent in (2, "\t"):
        with closing(Cloud(seed_file=written(tmp_path, json.dumps(bodies, indent=indent), "seed.json"))) as cloud:
            assert resources_of_ada(cloud.url)["tags"] == ["smile \U0001f600"]


def test_a_seed_is_played_on_postgresql(postgres_server: PostgresServer, tmp_path: Path) -> None:
    address = postgres_server.address(postgres_server.create())
    with serving("--database", address, "--workers", "2", "--seed", written(tmp_path, SEED)) as process:
        assert resources_of_ada(process.url) == EXPECTED
        with token(process.url, "ada") as ada:
            ada.post("/v4/tags", json={"label": "red"})
        httpx2.post(f"{process.url}/_sandbox/reset", timeout=PATIENCE)
        assert resources_of_ada(process.url) == EXPECTED


WRONG = {
    "refused body": (SEED.replace("g6-nanode-1, region", "g6-none, region"), 17, "type"),
    "refused longer body": (SEED.replace("region: us-east\n", "region: nowhere\n", 1), 11, "region"),
    "refused account": (SEED.replace("card: none", "card: gold"), 21, "card"),
    "user twice": (SEED.replace("username: bert", "username: ada"), 21, "username"),
    "unknown list": (SEED.replace("    tags:\n", "    tugs:\n"), 5, "tugs"),
    "no list": (SEED.replace("    tickets:\n      - summary", "    tickets:\n        summary"), 19, "tickets"),
    "no mapping": (SEED.replace("{label: green}", "green"), 7, "tags"),
    "unknown word": ("\nuniverse: []\n", 2, "universe"),
    "nothing": ("", 1, "accounts"),
    "a list": ("- accounts\n", 1, "accounts"),
    "no yaml": ("accounts:\n  - username: [ada\n  - b: {", 3, ""),
    "twice": ("accounts:\n  - username: ada\n    username: ida\n", 3, "twice"),
}


def refused(folder: Path, seed: str) -> str:
    with pytest.raises(SeedError) as problem:
        build(load({"port": 0, "data": str(folder / "data"), "seed_file": seed}, {}))
    return str(problem.value)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_seed_is_refused_with_file_line_and_reason(tmp_path: Path, name: str) -> None:
    text, line, word = WRONG[name]
    seed = written(tmp_path, text)
    reason = refused(tmp_path, seed)
    assert reason.startswith(f"{seed}:{line}: ")
    assert word in reason.removeprefix(f"{seed}:{line}: ")


def test_the_line_is_told_for_json_too(tmp_path: Path) -> None:
    bodies = {"accounts": [{"username": "ada", "tags": [{"label": "fine"}, {"label": ""}]}]}
    seed = written(tmp_path, json.dumps(bodies, indent=2), "seed.json")
    line = json.dumps(bodies, indent=2).splitlines().index("        {", 6) + 1
    assert refused(tmp_path, seed).startswith(f"{seed}:{line}: tags: label: ")


def test_after_a_refused_seed_the_next_start_is_a_first_one(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    assert run("serve", "--port", "0", "--data", data, "--seed", str(tmp_path / "none.yaml")).returncode == 1
    wrong = written(tmp_path, SEED.replace("card: none", "card: gold"))
    ended = run("serve", "--port", "0", "--data", data, "--seed", wrong)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith(f"{wrong}:21: ")
    assert "Traceback" not in ended.stderr
    with serving("--data", data, "--seed", written(tmp_path, SEED)) as process:
        assert any("password" in line for line in process.output)  # printed at the first start only
        assert resources_of_ada(process.url) == EXPECTED


def test_a_seed_is_for_sandboxes(tmp_path: Path) -> None:
    flags = ("serve", "--port", "0", "--mode", "production", "--seed", written(tmp_path, SEED))
    key = {"CROFTER_SECRET_KEY": "ab" * 32, "CROFTER_BASE_URL": "https://cloud.example"}
    ended = run(*flags, "--data", str(tmp_path / "data"), env=key)
    assert ended.returncode == 1
    assert "sandbox" in ended.stderr


def test_a_start_that_was_killed_while_it_played_begins_anew(tmp_path: Path) -> None:
    tags = "".join(f"      - {{label: tag-{number}}}\n" for number in range(3000))
    long = written(tmp_path, f"accounts:\n  - username: ada\n    tags:\n{tags}", "long.yaml")
    data = str(tmp_path / "data")
    command = [CROFTER, "serve", "--port", "0", "--data", data, "--seed", long]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = Path(data) / "crofter.db-wal"
    for _ in range(3000):
        if journal.exists() and journal.stat().st_size > 2_000_000:
            break
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    with serving("--data", data, "--seed", written(tmp_path, SEED)) as again:
        assert resources_of_ada(again.url) == EXPECTED


def test_every_list_is_made_by_a_creating_call() -> None:
    from crofter.sandbox.seeding import creations

    assert {"instances", "tags", "users", "tickets", "sshkeys", "tokens"} <= set(creations())
    assert all(endpoint.method == "POST" for endpoint in creations().values())
