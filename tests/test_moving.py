"""`crofter admin move` and `init`: from SQLite to PostgreSQL with the same bytes in every answer, and a first start."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from httpx2 import Client

from crofter import audit
from crofter.registry import ENDPOINTS
from tests.cloud import Cloud
from tests.databases import PostgresServer
from tests.matrix import Matrix, declared
from tests.test_staff import AdminCommands


@pytest.fixture
def target(postgres_server: PostgresServer) -> Iterator[str]:
    name = postgres_server.empty()
    yield postgres_server.address(name)
    postgres_server.drop(name)


def paths(matrix: Matrix) -> list[str]:
    """Every address that can be read, with what stands for its parts."""
    listed = []
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET" and not endpoint.path.endswith("/stream"):
            path = declared(endpoint).path
            for name in endpoint.parts:
                value = str(matrix.parts_of(endpoint)[name])
                path = path.replace(f"{{{name}:path}}", value).replace(f"{{{name}}}", value)
            listed.append(path)
    return listed


def answers(client: Client, asked: list[str]) -> dict[str, tuple[int, bytes]]:
    """Return the responses; calls that write while reading, such as the list of logins, keep their order."""
    responses = {path: client.get(path) for path in asked}
    here = str(client.base_url).rstrip("/").encode()
    return {path: (answer.status_code, answer.content.replace(here, b"")) for path, answer in responses.items()}


def test_after_a_move_every_answer_has_the_same_bytes(
    tmp_path: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    cloud = Cloud(data=str(folder))
    try:
        cloud.freeze()
        matrix = Matrix(cloud)
        token = cloud.token("alice")
        volume = {"label": "gone", "size": 20, "region": "us-east"}
        gone = cloud.client(token).post("/v4/volumes", json=volume).json()["id"]  # the last id was given out
        cloud.settle()
        assert cloud.client(token).delete(f"/v4/volumes/{gone}").status_code == 200
        cloud.settle()
        asked = paths(matrix)
        before = answers(cloud.client(token), asked)
        entries = _entries(cloud)
        AdminCommands(capsys, folder)("move", target, code=1)  # the server runs
    finally:
        cloud.close()
    assert sum(status == 200 for status, _ in before.values()) > 0.9 * len(before)

    (moved,) = AdminCommands(capsys, folder)("move", target, "--as", "eve")
    assert moved["audit"] == "whole"
    admin = AdminCommands(capsys, folder)
    admin("move", target, code=1)
    assert "not empty" in admin.stderr

    there = Cloud(target, data=str(folder))
    try:
        after = answers(there.client(token), asked)
        assert {path for path in asked if after[path] != before[path]} == set()
        admin = AdminCommands(capsys, folder, target)
        assert admin("audit", "verify") == []
        added = [name for name in _entries(there)[len(entries) :] if name == "move"]
        assert added == ["move"]
        _ids_go_on(there, token, gone)
    finally:
        there.close()


def _entries(cloud: Cloud) -> list[str]:
    with cloud.runtime.database.read() as db:
        return [entry.operation for entry in audit.entries(db, 0)]


def _ids_go_on(cloud: Cloud, token: str, gone: int) -> None:
    """New rows come after the old ones: no id is given out twice, and no sequence begins at one."""
    client = cloud.client(token)
    volumes = {volume["id"] for volume in client.get("/v4/volumes").json()["data"]}
    made = client.post("/v4/volumes", json={"label": "after", "size": 20, "region": "us-east"})
    assert made.status_code == 200, made.text
    assert made.json()["id"] > max(gone, *volumes)
    assert client.get("/v4/volumes").json()["results"] == len(volumes) + 1


def test_a_move_wants_an_empty_database_the_key_and_sqlite(
    tmp_path: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    admin = AdminCommands(capsys, folder)
    admin("move", target, code=1)  # there is nothing to move
    assert "no database" in admin.stderr
    (first,) = admin("init", "--as", "eve")
    assert set(first) == {"username", "password", "token"}
    admin("init", code=1)
    assert "set up before" in admin.stderr
    assert [entry["operation"] for entry in admin("audit", "show", "server")] == ["init"]

    admin("move", f"mysql://{target}", code=1)
    AdminCommands(capsys, folder, target)("move", target, code=1)
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute("CREATE TABLE theirs (id int)")
        admin("move", target, code=1)
        assert "a database of its own" in admin.stderr
        connection.execute("DROP TABLE theirs")
    keyless = tmp_path / "keyless"
    keyless.mkdir()
    shutil.copy(folder / "crofter.db", keyless / "crofter.db")
    without_key = AdminCommands(capsys, keyless)
    without_key("move", target, code=1)
    assert "secret.key" in without_key.stderr
