"""Sealing, hashing, and changing the master key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from crofter import rotation
from crofter.assembly import build_world
from crofter.config import load
from crofter.context import Context, World
from crofter.db import Database, Sealed, metadata, query
from crofter.dice import Dice
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
    well_formed,
)
from crofter.rotation import rotate
from tests.cloud import Cloud

OLD, NEW = b"o" * 32, b"n" * 32
PLACE = "credential:7:password"


def test_a_sealed_value_opens_in_its_own_place_alone() -> None:
    keyring = Keyring(OLD, Dice())
    sealed = keyring.seal(b"secret", PLACE)
    assert b"secret" not in sealed
    assert keyring.open(sealed, PLACE) == b"secret"
    with pytest.raises(Unopenable):
        keyring.open(sealed, "credential:8:password")


def test_the_same_value_is_never_sealed_the_same_way_twice() -> None:
    keyring = Keyring(OLD, Dice())
    assert keyring.seal(b"secret", PLACE) != keyring.seal(b"secret", PLACE)


def test_not_one_bit_of_a_sealed_value_can_be_altered() -> None:
    keyring = Keyring(OLD, Dice())
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
    keyring = Keyring(OLD, Dice())
    mine, theirs = keyring.seal(b"mine", PLACE), keyring.seal(b"them", "credential:8:password")
    with pytest.raises(Unopenable):
        keyring.open(mine[:72] + theirs[72:], PLACE)


def test_a_former_master_opens_until_everything_is_wrapped_anew() -> None:
    sealed = Keyring(OLD, Dice()).seal(b"secret", PLACE)
    both = Keyring(NEW, Dice(), (OLD,))
    assert both.open(sealed, PLACE) == b"secret"
    anew = both.rewrap(sealed)
    assert anew[:HEADER] == both.header != sealed[:HEADER]
    assert Keyring(NEW, Dice()).open(anew, PLACE) == b"secret"
    with pytest.raises(Unopenable):
        Keyring(NEW, Dice()).open(sealed, PLACE)
    with pytest.raises(Unopenable):
        Keyring(OLD, Dice()).open(anew, PLACE)
    with pytest.raises(Unopenable):
        both.open(anew, "another place")


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Keyring(b"short", Dice())


def test_tokens_carry_prefix_and_checksum() -> None:
    token = new_token(Dice(), "personal")
    assert token.startswith("ccp_")
    assert well_formed(token)
    assert not well_formed(token[:-1] + ("a" if token[-1] != "a" else "b"))


def test_the_file_of_masters_holds_the_current_one_first(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "secret.key"
    (first,) = read_masters(path, Dice())
    assert path.stat().st_mode & 0o777 == 0o600
    add_master(path, Dice())
    second, former = read_masters(path, Dice())
    assert former == first != second
    assert path.stat().st_mode & 0o777 == 0o600
    drop_former_masters(path)
    assert read_masters(path, Dice()) == [second]


# ---- the house ------------------------------------------------------------------------------------------------------


def house(folder: Path, *keys: str) -> World:
    current, *former = keys
    flags = {"data": str(folder), "secret_key": current, "former_secret_keys": ",".join(former) or None}
    return build_world(load({**flags, "log": "off"}, {}))


OLD_KEY, NEW_KEY, WRONG_KEY = "0" * 64, "1" * 64, "2" * 64


def seal_a_row(world: World, key: str) -> None:
    from crofter.context import Actor

    with world.database.write() as db:
        ctx = Context(world, db, Actor(1, 1, "alice", False, 1, frozenset("*")))
        idempotency.keep(ctx, key, b"f", 200, b"a secret answer")


def open_the_row(world: World, key: str) -> bytes:
    from crofter.context import Actor

    with world.database.read() as db:
        ctx = Context(world, db, Actor(1, 1, "alice", False, 1, frozenset("*")))
        found = idempotency.earlier(ctx, key, b"f")
    assert found is not None
    return found[1]


def headers(world: World) -> set[bytes]:
    """How every sealed value in the database begins."""
    found: set[bytes] = set()
    with world.database.read() as db:
        for place in metadata.sorted_tables:
            for column in place.columns:
                if isinstance(column.type, Sealed):
                    values = db.column(query(select(column).where(column.is_not(None))))
                    found |= {bytes(value)[:HEADER] for value in values}
    return found


def test_rotation_leaves_nothing_under_the_former_master(tmp_path: Path) -> None:
    world = house(tmp_path, OLD_KEY)
    for number in range(3):
        seal_a_row(world, f"key-{number}")
    digest = world.keyring.digest("a token")
    mark = world.keyring.chain(b"a deed")
    with world.database.write() as db:
        waiting = world.keyring.seal(b"root password", "seed").hex()
        _operation(db, {"seed": waiting, "plain": "text"})
    world.database.close()

    world = house(tmp_path, NEW_KEY, OLD_KEY)
    assert open_the_row(world, "key-0") == b"a secret answer"
    done = rotate(world)
    assert done.left == []
    assert done.rewrapped == 3 + 2 + 1
    assert headers(world) == {world.keyring.header}
    assert rotate(world).rewrapped == 0
    world.database.close()

    world = house(tmp_path, NEW_KEY)
    assert open_the_row(world, "key-2") == b"a secret answer"
    assert world.keyring.digest("a token") == digest
    assert world.keyring.chain(b"a deed") == mark
    with world.database.read() as db:
        kept = db.value(query(select(operation.c.input)))
    assert world.keyring.open(bytes.fromhex(kept["seed"]), "seed") == b"root password"
    assert kept["plain"] == "text"
    world.database.close()


def _operation(db: Any, document: dict[str, Any]) -> None:
    db.insert(
        operation,
        kind="test",
        version=1,
        lane="std",
        state="queued",
        due=0,
        cursor="first",
        input=document,
        vars={},
        created=0,
    )


def test_what_no_key_opens_is_told_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    world = house(tmp_path, OLD_KEY)
    seal_a_row(world, "good")
    seal_a_row(world, "lost")
    with world.database.write() as db:
        db.update(idempotency.answered, {"idempotency_key": "lost"}, answer=Keyring(NEW, Dice()).seal(b"x", "y"))
    world.database.close()
    world = house(tmp_path, NEW_KEY, OLD_KEY)
    done = rotate(world)
    assert [(one.table, one.key) for one in done.left] == [("answered_request", (1, "lost"))]
    assert open_the_row(world, "good") == b"a secret answer"
    world.database.close()


def test_a_house_does_not_start_with_a_key_that_is_not_its_own(tmp_path: Path) -> None:
    house(tmp_path, OLD_KEY).database.close()
    with pytest.raises(Unavailable, match="secret key is not the one"):
        house(tmp_path, WRONG_KEY)


def test_rotation_works_on_both_databases(database: Database) -> None:
    world = _on(database, Keyring(OLD, Dice()))
    seal_a_row(world, "key")
    world = _on(database, Keyring(NEW, Dice(), (OLD,)))
    done = rotate(world)
    assert (done.rewrapped, done.left) == (3, [])
    assert headers(world) == {world.keyring.header}
    assert open_the_row(_on(database, Keyring(NEW, Dice())), "key") == b"a secret answer"


def _on(database: Database, keyring: Keyring) -> World:
    from crofter.clock import Clock
    from crofter.config import Settings
    from crofter.kinds import Kinds

    with database.write() as db:
        rotation.settle(keyring, db)
    return World(Settings(), database, Clock(), Dice(), keyring, Kinds((), lambda *_: True))


def test_tokens_of_a_running_house_survive_its_reset(cloud: Cloud) -> None:
    assert cloud.admin.get("/v4/profile").status_code == 200
    cloud.reset()
    assert cloud.admin.get("/v4/profile").status_code == 200
    with cloud.world.database.read() as db:
        assert len(db.all(rotation._KEYS)) == 2
