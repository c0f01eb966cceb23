"""Checkpoints of the audit log: what is cut off as if it had never been is found, in the database and from outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client

from crofter import audit
from crofter.audit import Tampering
from crofter.cli import main
from tests.cloud import Cloud
from tests.databases import PostgresServer

Rows = list[tuple[Any, ...]]
HELD: dict[str, str] = {
    "audit_head": "account_id, number, mark, seal",
    "audit_checkpoint": "number, at, accounts, digest, previous, mark, heads",
    "meta": "name, value",
}
VANISHED = "all entries are missing that a checkpoint has seen"
CUT = "entries are missing at the end that a checkpoint has seen"


@pytest.fixture
def account(cloud: Cloud, alice: Client) -> int:
    """Return alice's account after four actions; mallory has done one."""
    for label in ("one", "two", "three", "four"):
        assert alice.post("/v4/tags", json={"label": label}).status_code == 200
    assert cloud.person(username="mallory").put("/v4/profile", json={}).status_code == 200
    return alice_of(cloud)


def alice_of(cloud: Cloud) -> int:
    return int(run(cloud, "SELECT account_id FROM audit WHERE username = 'alice'")[0][0])


def run(cloud: Cloud, statement: str) -> Rows:
    with cloud.runtime.database.write() as db:
        cursor = db.raw(statement)
        return [tuple(row) for row in cursor.fetchall()] if statement.startswith("SELECT") else []


def held(cloud: Cloud, table: str, where: str) -> Rows:
    """Return rows to restore later."""
    return run(cloud, f"SELECT {HELD[table]} FROM {table} WHERE {where}")


def put_back(cloud: Cloud, table: str, where: str, rows: Rows) -> None:
    mark = "?" if cloud.runtime.database.dialect == "sqlite" else "%s"
    with cloud.runtime.database.write() as db:
        db.raw(f"DELETE FROM {table} WHERE {where}")
        for row in rows:
            db.raw(f"INSERT INTO {table} ({HELD[table]}) VALUES ({', '.join([mark] * len(row))})", row)


def remove_account(cloud: Cloud, account: int) -> None:
    run(cloud, f"DELETE FROM audit WHERE account_id = {account}")
    run(cloud, f"DELETE FROM audit_head WHERE account_id = {account}")


def cut_tail(cloud: Cloud, account: int, head: Rows) -> None:
    """The last entries go, and the end of the chain is what it was before them."""
    run(cloud, f"DELETE FROM audit WHERE account_id = {account} AND number > {head[0][1]}")
    put_back(cloud, "audit_head", f"account_id = {account}", head)


def verified(cloud: Cloud, outside: audit.Checkpoint | None = None) -> list[Tampering]:
    with cloud.runtime.database.read() as db:
        return audit.verify(cloud.runtime.keyring, db, outside)


@pytest.mark.both
def test_an_account_that_vanished_is_found(cloud: Cloud, account: int) -> None:
    audit.take(cloud.runtime)
    assert verified(cloud) == []
    remove_account(cloud, account)
    assert verified(cloud) == [Tampering(account, 1, VANISHED)]
    # Nor is it forgotten by the checkpoints that come after.
    mallory = cloud.client(cloud.token("mallory"))
    for _ in range(2):
        assert mallory.put("/v4/profile", json={}).status_code == 200
        audit.take(cloud.runtime)
        assert verified(cloud) == [Tampering(account, 1, VANISHED)]


@pytest.mark.both
def test_an_end_that_was_put_back_is_found(cloud: Cloud, alice: Client, account: int) -> None:
    before = held(cloud, "audit_head", f"account_id = {account}")
    alice.delete("/v4/tags/one")
    audit.take(cloud.runtime)
    assert verified(cloud) == []
    cut_tail(cloud, account, before)
    assert verified(cloud) == [Tampering(account, 5, CUT)]
    # Real entries in place of those that were cut off do not hide it.
    for label in ("two", "three"):
        alice.delete(f"/v4/tags/{label}")
    replaced = [Tampering(account, 5, "it is not the entry that a checkpoint has seen")]
    assert verified(cloud) == replaced
    audit.take(cloud.runtime)
    assert verified(cloud) == replaced


def test_what_came_after_the_last_checkpoint_is_fine(cloud: Cloud, alice: Client, account: int) -> None:
    first = audit.take(cloud.runtime)
    assert audit.take(cloud.runtime) == first  # without changes no checkpoint is written
    alice.delete("/v4/tags/one")
    second = audit.take(cloud.runtime)
    assert (first.number, second.number) == (1, 2)
    alice.delete("/v4/tags/two")
    assert (verified(cloud), verified(cloud, first), verified(cloud, second)) == ([], [], [])


CHECKPOINTS_CUT: dict[str, tuple[str, ...]] = {
    "all checkpoints": ("DELETE FROM audit_checkpoint",),
    "the last one": ("DELETE FROM audit_checkpoint WHERE number = 2",),
    "the first one": ("DELETE FROM audit_checkpoint WHERE number = 1",),
    "the note": ("DELETE FROM meta WHERE name = 'audit_checkpoint'",),
    "all and the note": ("DELETE FROM audit_checkpoint", "DELETE FROM meta WHERE name = 'audit_checkpoint'"),
    "what was seen": ("UPDATE audit_checkpoint SET heads = NULL",),
    "a time": ("UPDATE audit_checkpoint SET at = '2001-01-01T00:00:00' WHERE number = 1",),
    "what was seen, by an older list": (
        "UPDATE audit_checkpoint SET digest = (SELECT digest FROM audit_checkpoint WHERE number = 1) WHERE number = 2",
    ),
}


@pytest.mark.parametrize("cut", CHECKPOINTS_CUT)
def test_checkpoints_that_were_removed_or_altered_are_missed(
    cloud: Cloud, alice: Client, account: int, cut: str
) -> None:
    audit.take(cloud.runtime)
    alice.delete("/v4/tags/one")
    outside = audit.take(cloud.runtime)
    remove_account(cloud, account)
    for statement in CHECKPOINTS_CUT[cut]:
        run(cloud, statement)
    assert verified(cloud)[0].account_id is None
    assert Tampering(account, 1, VANISHED) in verified(cloud, outside)
    # The next checkpoint does not hide the damage.
    cloud.person(username="carol").put("/v4/profile", json={})
    audit.take(cloud.runtime)
    assert verified(cloud)[0].account_id is None
    assert Tampering(account, 1, VANISHED) in verified(cloud, outside)


@pytest.mark.both
def test_a_whole_older_state_is_found_from_outside(cloud: Cloud, alice: Client, account: int) -> None:
    """Restore all parts of an older state: only a file that was stored elsewhere detects this."""
    audit.take(cloud.runtime)
    former = {table: held(cloud, table, "1 = 1") for table in HELD}
    alice.delete("/v4/tags/one")
    outside = audit.take(cloud.runtime)
    cut_tail(cloud, account, [row for row in former["audit_head"] if row[0] == account])
    for table in ("audit_checkpoint", "meta"):
        put_back(cloud, table, "1 = 1", former[table])
    assert verified(cloud) == []
    assert verified(cloud, outside) == [
        Tampering(None, 2, "it is not the checkpoint that the file holds"),
        Tampering(account, 5, CUT),
    ]


def test_a_file_says_what_was_seen_and_cannot_be_forged(cloud: Cloud, account: int, tmp_path: Path) -> None:
    taken, file = audit.take(cloud.runtime), tmp_path / "kept"
    audit.write_file(cloud.runtime.keyring, taken, file)
    assert audit.read_file(cloud.runtime.keyring, file) == taken
    written = file.read_text()
    own = next(line for line in written.splitlines() if line.startswith(f"{account} "))
    for forged in ("", "x", written.replace(f"{own}\n", ""), written.replace(" 4 ", " 3 "), written + "signature 00\n"):
        assert forged != written
        file.write_text(forged)
        with pytest.raises(ValueError, match="no checkpoint of this server, or it was altered"):
            audit.read_file(cloud.runtime.keyring, file)


@pytest.mark.both
def test_checkpoints_are_taken_by_the_server_itself(cloud: Cloud, account: int) -> None:
    """Take a checkpoint every hour, and once a day in any case."""
    assert run(cloud, "SELECT count(*) FROM audit_checkpoint") == [(0,)]
    cloud.freeze()
    cloud.advance(3600)
    assert run(cloud, "SELECT count(*) FROM audit_checkpoint") == [(1,)]
    remove_account(cloud, account)
    assert verified(cloud) == [Tampering(account, 1, VANISHED)]


def test_a_stop_takes_a_checkpoint(tmp_path: Path) -> None:
    """Detect entries that were removed while the server was down."""
    cloud = Cloud(data=str(tmp_path), secret_key="0123456789abcdef" * 4)
    assert cloud.person(username="alice").post("/v4/tags", json={"label": "web"}).status_code == 200
    account = alice_of(cloud)
    cloud.close()
    cloud = Cloud(data=str(tmp_path), secret_key="0123456789abcdef" * 4)
    try:
        remove_account(cloud, account)
        assert verified(cloud) == [Tampering(account, 1, VANISHED)]
    finally:
        cloud.close()


@pytest.mark.both
def test_a_reset_and_the_end_of_an_account_leave_it_whole(cloud: Cloud, account: int) -> None:
    audit.take(cloud.runtime)
    carol = cloud.person(username="carol")
    carol.post("/v4/tags", json={"label": "web"})
    audit.take(cloud.runtime)
    assert carol.post("/v4/account/cancel", json={"comments": "bye"}).status_code == 200
    cloud.settle()
    audit.take(cloud.runtime)
    assert verified(cloud) == []
    cloud.reset()
    assert verified(cloud) == []
    assert audit.take(cloud.runtime).number == 1
    assert verified(cloud) == []


# ---- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """Return the options that select a database of its own."""
    if request.param == "sqlite":
        yield ["--data", str(tmp_path / "data")]
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    yield ["--data", str(tmp_path / "data"), "--database", server.address(server.create())]


def code_and_output(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["admin", *arguments])
    captured = capsys.readouterr()
    code = ended.value.code
    return int(code) if isinstance(code, int) else 1, captured.out + captured.err


@pytest.mark.both
def test_the_command_line_writes_a_checkpoint_and_compares(
    place: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, forged = tmp_path / "kept", tmp_path / "forged"
    assert code_and_output(capsys, "tokens", "create", "admin", *place)[0] == 0
    code, output = code_and_output(capsys, "audit", "checkpoint", str(kept), *place)
    assert (code, "1" in output, kept.exists()) == (0, True, True)
    assert code_and_output(capsys, "audit", "verify", "--checkpoint", str(kept), *place) == (
        0,
        "the audit log is whole\n",
    )
    forged.write_text(kept.read_text().replace(" 1 ", " 2 "))
    for wrong in (forged, tmp_path / "none"):
        code, output = code_and_output(capsys, "audit", "verify", "--checkpoint", str(wrong), *place)
        assert (code, "crofter: " in output) == (1, True)
    for table in ("audit", "audit_head", "audit_checkpoint"):
        execute(place, f"DELETE FROM {table}")
    assert code_and_output(capsys, "audit", "verify", *place)[0] == 1
    code, output = code_and_output(capsys, "audit", "verify", "--checkpoint", str(kept), *place)
    assert (code, VANISHED in output) == (1, True)


def execute(place: list[str], statement: str) -> None:
    if "--database" in place:
        import psycopg

        with psycopg.connect(place[-1], autocommit=True) as connection:
            connection.execute(statement.encode())
        return
    import sqlite3

    (file,) = Path(place[1]).glob("*.db")
    database = sqlite3.connect(file)
    database.execute(statement)
    database.commit()
    database.close()
