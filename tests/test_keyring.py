"""Sealing, hashing, and changing the master key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crofter import rotation
from crofter.bootstrap import build_runtime
from crofter.config import load
from crofter.context import Context, Runtime
from crofter.db import Database, Sealed, metadata, query
from crofter.db.deferred import evaluate
from crofter.db.sql import select
from crofter.edge import idempotency
from crofter.engine.tables import operation
from crofter.errors import Unavailable
from crofter.keyring import (
    HEADER,
    Keyring,
    Unopenable,
    add_master,
    drop_former_masters,
    new_token,
    read_masters,
)
from crofter.rng import Rng
from crofter.rotation import rotate
from tests.cloud import Cloud
from tests.tokens import has_checksum

OLD, NEW = b"o" * 32, b"n" * 32
PLACE = "credential:7:password"


def test_a_sealed_value_opens_in_its_own_place_alone() -> None:
    keyring = Keyring(OLD, Rng())
    sealed = keyring.seal(b"secret", PLACE)
    assert b"secret" not in sealed
    assert keyring.open(sealed, PLACE) == b"secret"
    with pytest.raises(Unopenable):
        keyring.open(sealed, "credential:8:password")


def test_the_same_value_is_never_sealed_the_same_way_twice() -> None:
    keyring = Keyring(OLD, Rng())
    assert keyring.seal(b"secret", PLACE) != keyring.seal(b"secret", PLACE)


def test_not_one_bit_of_a_sealed_value_can_be_altered() -> None:
    keyring = Keyring(OLD, Rng())
    sealed = keyring.seal(b"secret", PLACE)
    for position in range(len(sealed)):
        altered = bytearray(sealed)
        altered[position] ^= 1
        with pytest.raises(Unopenable):
            keyring.open(bytes(altered), PLACE)
    for length in range(len(sealed)):
        with pytest.raises(Unopenable):
            keyring.open(sealed[:length], PLACE)


def test_the_wrapped_key_of_one_value_does_not_open_another() -> None:
    keyring = Keyring(OLD, Rng())
    mine, theirs = keyring.seal(b"mine", PLACE), keyring.seal(b"them", "credential:8:password")
    with pytest.raises(Unopenable):
        keyring.open(mine[:72] + theirs[72:], PLACE)


def test_a_former_master_opens_until_everything_is_wrapped_anew() -> None:
    sealed = Keyring(OLD, Rng()).seal(b"secret", PLACE)
    both = Keyring(NEW, Rng(), (OLD,))
    assert both.open(sealed, PLACE) == b"secret"
    anew = both.rewrap(sealed)
    assert anew[:HEADER] == both.header != sealed[:HEADER]
    assert Keyring(NEW, Rng()).open(anew, PLACE) == b"secret"
    with pytest.raises(Unopenable):
        Keyring(NEW, Rng()).open(sealed, PLACE)
    with pytest.raises(Unopenable):
        Keyring(OLD, Rng()).open(anew, PLACE)
    with pytest.raises(Unopenable):
        both.open(anew, "another place")


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Keyring(b"short", Rng())


def test_tokens_carry_prefix_and_checksum() -> None:
    token = new_token(Rng(), "personal")
    assert token.startswith("ccp_")
    assert has_checksum(token)
    assert not has_checksum(token[:-1] + ("a" if token[-1] != "a" else "b"))


def test_the_file_of_masters_holds_the_current_one_first(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "secret.key"
    (first,) = read_masters(path, Rng())
    assert path.stat().st_mode & 0o777 == 0o600
    add_master(path, Rng())
    second, former = read_masters(path, Rng())
    assert former == first != second
    assert path.stat().st_mode & 0o777 == 0o600
    drop_former_masters(path)
    assert read_masters(path, Rng()) == [second]


# ---- the server ------------------------------------------------------------------------------------------------------


def application(folder: Path, *keys: str) -> Runtime:
    current, *former = keys
    flags = {"data": str(folder), "secret_key": current, "former_secret_keys": ",".join(former) or None}
    return build_runtime(load({**flags, "log": "off"}, {}))


OLD_KEY, NEW_KEY, WRONG_KEY = "0" * 64, "1" * 64, "2" * 64


def seal_a_row(runtime: Runtime, key: str) -> None:
    with runtime.database.write() as db:
        idempotency.keep(Context(runtime, db), idempotency.Key(b"t", key, b"f"), 200, b"a secret answer")


def open_the_row(runtime: Runtime, key: str) -> bytes:
    with runtime.database.read() as db:
        answered = idempotency.earlier(Context(runtime, db), idempotency.Key(b"t", key, b"f"))
    assert answered is not None
    return answered[1]


def headers(runtime: Runtime) -> set[bytes]:
    """How every sealed value in the database begins."""
    seen: set[bytes] = set()
    with runtime.database.read() as db:
        for place in metadata.sorted_tables:
            for column in place.columns:
                if isinstance(column.type, evaluate(Sealed)):
                    values = db.column(query(select(column).where(column.is_not(None))))
                    seen |= {bytes(value)[:HEADER] for value in values}
    return seen


def test_rotation_leaves_nothing_under_the_former_master(tmp_path: Path) -> None:
    runtime = application(tmp_path, OLD_KEY)
    for number in range(3):
        seal_a_row(runtime, f"key-{number}")
    digest = runtime.keyring.digest("a token")
    mark = runtime.keyring.chain(b"an entry")
    with runtime.database.write() as db:
        waiting = runtime.keyring.seal(b"root password", "seed").hex()
        _operation(db, {"seed": waiting, "plain": "text"})
    runtime.database.close()

    runtime = application(tmp_path, NEW_KEY, OLD_KEY)
    assert open_the_row(runtime, "key-0") == b"a secret answer"
    done = rotate(runtime)
    assert done.left == []
    assert done.rewrapped == 3 + 2 + 1
    assert headers(runtime) == {runtime.keyring.header}
    assert rotate(runtime).rewrapped == 0
    runtime.database.close()

    runtime = application(tmp_path, NEW_KEY)
    assert open_the_row(runtime, "key-2") == b"a secret answer"
    assert runtime.keyring.digest("a token") == digest
    assert runtime.keyring.chain(b"an entry") == mark
    with runtime.database.read() as db:
        kept = db.value(query(select(operation.c.input)))
    assert runtime.keyring.open(bytes.fromhex(kept["seed"]), "seed") == b"root password"
    assert kept["plain"] == "text"
    runtime.database.close()


def _operation(db: Any, document: dict[str, Any]) -> None:
    db.insert(
        operation,
        kind="test",
        version=1,
        queue="std",
        state="queued",
        due=0,
        cursor="first",
        input=document,
        vars={},
        created=0,
    )


def test_what_no_key_opens_is_told_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    runtime = application(tmp_path, OLD_KEY)
    seal_a_row(runtime, "good")
    seal_a_row(runtime, "lost")
    with runtime.database.write() as db:
        db.update(idempotency.answered, {"idempotency_key": "lost"}, answer=Keyring(NEW, Rng()).seal(b"x", "y"))
    runtime.database.close()
    runtime = application(tmp_path, NEW_KEY, OLD_KEY)
    done = rotate(runtime)
    assert [(row.table, row.key) for row in done.left] == [("answered_request", (b"t", "lost"))]
    assert open_the_row(runtime, "good") == b"a secret answer"
    runtime.database.close()


def test_a_service_does_not_start_with_a_key_that_is_not_its_own(tmp_path: Path) -> None:
    application(tmp_path, OLD_KEY).database.close()
    with pytest.raises(Unavailable, match="secret key is not the one"):
        application(tmp_path, WRONG_KEY)


@pytest.mark.both
def test_rotation_works_on_both_databases(database: Database) -> None:
    runtime = _on(database, Keyring(OLD, Rng()))
    seal_a_row(runtime, "key")
    runtime = _on(database, Keyring(NEW, Rng(), (OLD,)))
    done = rotate(runtime)
    assert (done.rewrapped, done.left) == (3, [])
    assert headers(runtime) == {runtime.keyring.header}
    assert open_the_row(_on(database, Keyring(NEW, Rng())), "key") == b"a secret answer"


def _on(database: Database, keyring: Keyring) -> Runtime:
    from crofter.clock import Clock
    from crofter.config import Settings
    from crofter.kinds import Kinds

    with database.write() as db:
        rotation.adopt_hash_keys(keyring, db)
    return Runtime(Settings(), database, Clock(), Rng(), keyring, Kinds((), lambda *_: True))


def test_tokens_of_a_running_service_survive_its_reset(cloud: Cloud) -> None:
    assert cloud.admin.get("/v4/profile").status_code == 200
    cloud.reset()
    assert cloud.admin.get("/v4/profile").status_code == 200
    with cloud.runtime.database.read() as db:
        assert len(db.all(rotation._KEYS)) == 2
