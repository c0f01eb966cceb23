"""`crofter serve`, from the outside: a real process, started, used, stopped."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from crofter.cli import serve
from crofter.config import load
from crofter.db import sqlite_file
from tests.databases import PostgresServer, children
from tests.edge.answers import connect, receive, request
from tests.resources.followers import eventually, stream
from tests.served import TOKEN, Process, run, run_here, serving

STOP_SECONDS = 60
"""Until a test that waits for an end gives up. Never a measure of anything."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a server has been, with a tag in it."""
    folder = tmp_path_factory.mktemp("kept")
    with serving("--data", str(folder)) as server, server.client() as client:
        assert client.post("/v4/tags", json={"label": "from the first start"}).status_code == 200
    return folder


@pytest.fixture(scope="module")
def logged() -> Iterator[Process]:
    with serving("--data", ":memory:", "--log", "json") as server:
        yield server


# ---- starting -------------------------------------------------------------------------------------------------------


def test_a_first_start_says_where_it_serves_and_how_to_get_in(tmp_path: Path) -> None:
    with serving("--data", str(tmp_path), env={"CROFTER_BOOTSTRAP_TOKEN": ""}) as server:
        output = "\n".join(server.output)
        assert re.search(r"serves on http://127\.0\.0\.1:\d+ \(sandbox", output)
        eventually(lambda: any("token" in line for line in server.output))
        words = dict(line.split(maxsplit=1) for line in server.output if line.startswith("  "))
        assert words["user"] == "admin"
        assert len(words["password"]) >= 12
        assert words["token"].startswith("ccp_")
        with server.client(words["token"]) as client:
            answer = client.get("/v4/profile")
            assert (answer.json()["username"], answer.headers["x-oauth-scopes"]) == ("admin", "*")
        assert words["docs"].startswith(server.url)
        assert words["console"].startswith(server.url)


def test_the_token_can_be_set_and_is_then_the_first_users(kept: Path) -> None:
    with serving("--data", str(kept)) as server, server.client(TOKEN) as client:
        assert client.get("/v4/profile").json()["username"] == "admin"


def test_a_second_start_keeps_what_is_there_and_shows_no_secret(kept: Path) -> None:
    with serving("--data", str(kept), env={"CROFTER_BOOTSTRAP_TOKEN": "another-token-this-time"}) as server:
        with server.client() as client:
            assert [tag["label"] for tag in client.get("/v4/tags").json()["data"]] == ["from the first start"]
        with server.client("another-token-this-time") as client:
            assert client.get("/v4/tags").status_code == 401
        assert not any("password" in line or "ccp_" in line for line in server.output)


def test_what_stands_beside_the_interface_is_there(logged: Process) -> None:
    with logged.client(None) as client:
        assert client.get("/health/live").json() == {"status": "ok"}
        assert client.get("/health/ready").json()["status"] == "ok"
        assert client.get("/version").json()["interface"] == "4.115.0"
        assert "crofter_requests_total" in client.get("/metrics").text
        assert client.get("/openapi.json").json()["openapi"].startswith("3.1")
        assert client.get("/docs").headers["content-type"].startswith("text/html")
        assert client.get("/health/nothing").status_code == 404
        assert client.post("/version").status_code == 405


def test_a_second_process_on_the_same_folder_is_refused_in_words(kept: Path) -> None:
    with serving("--data", str(kept)):
        second = run("serve", "--port", "0", "--data", str(kept))
    assert second.returncode == 1
    assert second.stderr.strip() == f"crofter: {kept} is in use by another crofter process"


@pytest.mark.parametrize(("flag", "setting"), [("--port", "port"), ("--metrics-port", "metrics port")])
def test_a_port_that_is_taken_is_refused_with_a_hint(flag: str, setting: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = run_here("serve", "--port", "0", flag, str(port), "--data", ":memory:")
    assert refused.returncode == 1
    assert refused.stderr == (
        f"crofter: cannot listen on {setting} {port} of 127.0.0.1: another program uses it. "
        f"Stop that program, or choose another port with {flag}; 0 takes a free one\n"
    )


def test_an_address_of_another_machine_is_refused_with_a_hint() -> None:
    env = {"CROFTER_SANDBOX_KEY": "only-for-this-test", "CROFTER_SANDBOX_HOSTS": "cloud.test"}
    refused = run_here(
        "serve", "--mode", "sandbox", "--host", "192.0.2.1", "--port", "0", "--data", ":memory:", env=env
    )
    assert refused.returncode == 1
    assert refused.stderr.startswith("crofter: cannot listen on port 0 of 192.0.2.1: ")
    assert refused.stderr.count("assign requested address") == 1
    assert "--host" in refused.stderr


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("migrate",)])
def test_a_file_that_is_no_database_is_refused_in_words(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "crofter.db").write_bytes(b"something else" * 1000)
    refused = run_here(*command, "--data", str(tmp_path))
    assert refused.returncode == 1
    assert f"cannot use the database {tmp_path / 'crofter.db'}: file is not a database" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("migrate",)])
def test_a_database_that_was_emptied_is_refused_in_words(kept: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Else a new service would begin in its place, as if there had never been anything."""
    folder = shutil.copytree(kept, tmp_path / "emptied")
    (folder / "crofter.db").write_bytes(b"")
    refused = run_here(*command, "--data", str(folder))
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"crofter: the database {folder / 'crofter.db'} is empty, but secret.key beside")
    assert refused.stderr.count("\n") == 1
    assert (folder / "crofter.db").stat().st_size == 0


def test_an_empty_file_in_an_otherwise_empty_folder_is_a_new_database(tmp_path: Path) -> None:
    (tmp_path / "crofter.db").touch()
    assert run_here("migrate", "--data", str(tmp_path)).returncode == 0


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("migrate",)])
@pytest.mark.parametrize("damage", ["zeroes", "noise"])
def test_a_damaged_database_is_refused_in_words(
    kept: Path, tmp_path: Path, command: tuple[str, ...], damage: str
) -> None:
    folder = shutil.copytree(kept, tmp_path / "damaged")
    size, page = (folder / "crofter.db").stat().st_size, 4096
    with (folder / "crofter.db").open("r+b") as file:
        for start in range(page * 4, size, page * 2):  # the schema's own pages stay whole
            file.seek(start)
            file.write(bytes(page) if damage == "zeroes" else bytes((start * 31 + n * n) % 251 for n in range(page)))
    refused = run_here(*command, "--data", str(folder))
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"crofter: cannot use the database {folder / 'crofter.db'}: it is damaged (")
    assert refused.stderr.count("\n") == 1


def test_damage_that_the_look_at_the_start_has_missed_is_told_in_words_too(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(kept, tmp_path / "damaged")
    with (folder / "crofter.db").open("r+b") as file:
        file.seek(4096)
        file.write(bytes((folder / "crofter.db").stat().st_size - 4096))
    monkeypatch.setattr(sqlite_file, "check", lambda _connection: None)
    assert serve.serve(load({"data": str(folder), "port": 0, "log": "off"}, {})) == 1
    stderr = capsys.readouterr().err
    assert stderr.startswith("crofter: ")
    assert stderr.count("\n") == 1


def test_a_newer_schema_is_refused_in_words(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path / "newer")
    with sqlite3.connect(tmp_path / "newer" / "crofter.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    refused = run_here("serve", "--port", "0", "--data", str(tmp_path / "newer"))
    assert refused.returncode == 1
    assert "the database has schema 9999, which is newer than this release knows" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("flags", "env", "words"),
    [
        (("--mode", "production"), {}, "CROFTER_SECRET_KEY"),
        (("--mode", "toy"), {}, "invalid choice"),
        (("--host", "0.0.0.0", "--mode", "sandbox"), {}, "loopback"),
        (("--workers", "2"), {}, "SQLite is for one process"),
        ((), {"CROFTER_PORT": "many"}, "port"),
        (("--config", "/no/such/file.toml"), {}, "cannot read"),
        (("--database", "postgresql://u:canary@127.0.0.1:1/none"), {}, "cannot use the database"),
        (("--data", "/proc/nowhere"), {}, "/proc/nowhere"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_words(flags: tuple[str, ...], env: dict[str, str], words: str) -> None:
    refused = run_here("serve", *flags, env={"CROFTER_PORT": "0", **env})
    assert refused.returncode != 0
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "canary" not in refused.stderr


def test_the_command_says_what_it_can_do() -> None:
    shown = run_here("--help")
    assert shown.returncode == 0
    assert "serve" in shown.stdout
    assert run_here("--version").stdout.startswith("crofter ")


# ---- stopping -------------------------------------------------------------------------------------------------------


def test_a_stop_ends_whoever_waits_and_exits_with_nought(tmp_path: Path) -> None:
    with serving("--data", str(tmp_path)) as server, server.client() as client:
        with connect(server.url) as poll, stream(client) as frames:
            idle = connect(server.url)
            client.post("/v4/tags", json={"label": "last words"})
            last = next(frames).data
            assert last["action"] == "tag_create"
            poll.sendall(request("GET", f"/v4/account/events?after={last['id']}&wait=60", token=TOKEN))
            assert client.get("/health/live").status_code == 200  # the signal was handled
            server.terminate()
            # Each is let go, not cut off when the patience of the stop is over: with an answer, to its last byte.
            answer = receive(poll)
            assert (answer.status, answer.json()["data"]) == (200, [])
            assert list(frames) == []
            assert idle.recv(1) == b""
            idle.close()
            assert server.ended(STOP_SECONDS) == 0
        assert "Traceback" not in server.log()


def test_what_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    with serving("--data", str(tmp_path)) as server, server.client() as client:
        for number in range(5):
            assert client.post("/v4/tags", json={"label": f"tag {number}"}).status_code == 200
        server.kill()
    with serving("--data", str(tmp_path)) as server, server.client() as client:
        assert client.get("/v4/tags").json()["results"] == 5
        assert client.get("/v4/account/events").json()["results"] == 5


def test_a_stop_lets_a_request_that_has_begun_end(tmp_path: Path) -> None:
    with serving("--data", str(tmp_path)) as server:
        body = b'{"label": "slow but whole"}'
        content = request("POST", "/v4/tags", token=TOKEN, body=body, headers=(b"Expect: 100-continue",))
        with connect(server.url) as connection:
            connection.sendall(content[: -len(body)])
            assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"  # the head was read, the body is awaited
            connection.sendall(body[:-5])
            server.terminate()
            eventually(lambda: _takes_nobody_in(server))
            connection.sendall(body[-5:])
            answer = receive(connection)
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert answer.json()["label"] == "slow but whole"
        assert server.ended(STOP_SECONDS) == 0
    with serving("--data", str(tmp_path)) as server, server.client() as client:
        assert [tag["label"] for tag in client.get("/v4/tags").json()["data"]] == ["slow but whole"]


def _takes_nobody_in(server: Process) -> bool:
    try:
        connect(server.url).close()
    except ConnectionRefusedError:
        return True
    return False


STUCK = """
import signal, threading
from crofter.cli import main, stopping
from crofter.engine.worker import Worker
stopping.MOST_SECONDS = 0.5
Worker.stop = lambda self, grace: threading.Event().wait()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
main()
"""


def test_a_stop_ends_though_a_part_never_does_and_says_where_it_stood() -> None:
    """Stop in spite of a hanging part, although the parent process had blocked the signal."""
    with serving("--data", ":memory:", program=(sys.executable, "-c", STUCK)) as server:
        server.terminate()
        assert server.ended(STOP_SECONDS) == 1
        assert "lambda" in server.log()


ENDLESS = """
import asyncio
from crofter.cli import main
from crofter.edge import server
from crofter.edge.app import App
server.GRACE_SECONDS = 0.5
async def never(*_): await asyncio.Event().wait()
App._http = never
main()
"""


def test_requests_that_a_stop_cuts_off_are_told_of_in_one_line() -> None:
    with serving("--data", ":memory:", program=(sys.executable, "-c", ENDLESS)) as server:
        waiting = [connect(server.url) for _ in range(5)]
        for connection in waiting:
            connection.sendall(request("GET", "/v4/regions"))
        time.sleep(0.2)  # until they are under way; one that is not counts for nothing
        server.terminate()
        assert server.ended(STOP_SECONDS) == 0
        assert len(server.log().splitlines()) == 1, server.log()
        assert "running task(s)" in server.log()
        for connection in waiting:
            connection.close()


# ---- the log --------------------------------------------------------------------------------------------------------

CANARIES = {
    "token": "canary-in-the-token",
    "query": "canary-in-the-query",
    "body": "canary-in-the-body",
    "filter": "canary-in-the-filter",
    "header": "canary-in-a-header",
    "key": "canary-in-the-key",
}


def test_each_request_is_one_line_of_json_with_its_id_and_no_secret(logged: Process) -> None:
    with logged.client() as client:
        good = client.post(
            "/v4/tags",
            params={"secret": CANARIES["query"]},
            json={"label": CANARIES["body"]},
            headers={"X-Secret": CANARIES["header"], "Idempotency-Key": CANARIES["key"]},
        )
        bad = client.post("/v4/tags", content=b'{"label": "%s"' % CANARIES["body"].encode())
        client.get("/v4/tags", headers={"X-Filter": f'{{"label": "{CANARIES["filter"]}"}}'})
    with logged.client(CANARIES["token"]) as stranger:
        refused = stranger.get("/v4/tags")
    assert (good.status_code, bad.status_code, refused.status_code) == (200, 400, 401)
    ids = [answer.headers["x-request-id"] for answer in (good, bad, refused)]
    eventually(lambda: ids[-1] in logged.log())
    lines = [json.loads(line) for line in logged.log().splitlines()]
    by_request = {line["request"]: line for line in lines if "request" in line}
    assert all(request_id in by_request for request_id in ids)
    line = by_request[ids[0]]
    assert (line["method"], line["path"], line["status"]) == ("POST", "/v4/tags", 200)
    assert (line["user"], line["operation"], line["address"]) == ("admin", "create_tag", "127.0.0.1")
    assert line["ms"] >= 0
    for where, canary in CANARIES.items():
        assert canary not in logged.log(), where
    assert TOKEN not in logged.log()


def test_a_line_cannot_be_forged_through_the_path(logged: Process) -> None:
    with logged.client() as client:
        answer = client.get('/v4/tags/a%0A{"request":"forged","status":200}')
    eventually(lambda: answer.headers["x-request-id"] in logged.log())
    assert not any(json.loads(line).get("request") == "forged" for line in logged.log().splitlines())


# ---- PostgreSQL -----------------------------------------------------------------------------------------------------


def test_several_processes_serve_one_database(postgres_server: PostgresServer) -> None:
    address = postgres_server.address(postgres_server.empty())
    with serving("--database", address, "--workers", "2") as server, server.client() as client:
        for number in range(6):
            assert client.post("/v4/tags", json={"label": f"tag {number}"}).status_code == 200
        assert client.get("/v4/tags").json()["results"] == 6
        server.terminate()
        assert server.ended(STOP_SECONDS * 2) == 0


def test_processes_that_keep_dying_are_started_ever_later(postgres_server: PostgresServer) -> None:
    address = postgres_server.address(postgres_server.empty())
    with serving("--database", address, "--workers", "2", "--log", "json") as server, server.client(None) as client:
        seen: set[int] = set()
        until = time.monotonic() + 4
        while time.monotonic() < until:
            for child in children(server.id):
                seen.add(child)
                with suppress(ProcessLookupError):  # already gone
                    os.kill(child, signal.SIGKILL)
            time.sleep(0.01)
        # Two at first, and after each end half a second, one, two: no more than four starts of each in four seconds.
        assert 4 <= len(seen) <= 8
        restart_lines = [line for line in server.log().splitlines() if "another one starts in" in line]
        assert len(seen) - 2 <= len(restart_lines) <= len(seen)
        eventually(lambda: len(children(server.id)) == 2)
        assert client.get("/health/live").status_code == 200
        server.terminate()
        assert server.ended(STOP_SECONDS * 2) == 0
