"""Checkpoints: the last entry of each account's chain at one moment, in the database and in files outside it.

A chain alone cannot show that its last entries, or all entries of an account, were deleted. A checkpoint shows it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from crofter import clock
from crofter.audit.tables import BEGINNING, HEADS, LATEST, LATEST_HEADS, MARK, StoredCheckpoint, audit_checkpoint
from crofter.context import Runtime
from crofter.db import Session, meta
from crofter.db.locks import Lock
from crofter.keyring import Keyring

ChainEnd = tuple[int, int, bytes]
"""Account id, number of the last entry, and mark of that entry."""
ANCHOR = "audit_checkpoint"
"""Under this name the last checkpoint is noted beside the checkpoints, so that they cannot be cut off either."""
FORMAT = "crofter audit checkpoint 1"

_encode = msgspec.json.Encoder().encode
_heads = msgspec.msgpack.Decoder(list[ChainEnd])


class Anchor(Struct, frozen=True):
    """The last checkpoint there is."""

    number: int
    mark: bytes


class Checkpoint(Struct, frozen=True):
    """Where every chain ended at a moment."""

    number: int
    at: str
    mark: bytes
    heads: list[ChainEnd]


def begin(keyring: Keyring, db: Session) -> None:
    """In a new database: there is no checkpoint yet, and who removes this note is found out."""
    _note(keyring, db, Anchor(0, BEGINNING))


def take(runtime: Runtime) -> Checkpoint:
    """Write down where all chains end now; if that is where they ended last time, that checkpoint still serves."""
    keyring = runtime.keyring
    while True:
        with runtime.database.read() as db:  # a long list is read without keeping writers waiting
            last, noted = db.maybe(LATEST), anchor(keyring, db)
            seen = [] if last is None else latest_heads(keyring, db, last)
            heads = _kept(db, seen or [], db.all(HEADS))
        listed = msgspec.msgpack.encode(heads)
        digest = digest_of(keyring, listed)
        before = max(_end_of(last), noted or Anchor(0, BEGINNING), key=lambda end: end.number)
        if last is not None and before == _end_of(last) == noted and bytes(last.digest) == digest:
            return Checkpoint(last.number, last.at, bytes(last.mark), heads)
        if seen is None:
            before = Anchor(before.number + 1, before.mark)  # the lost entries stay visible as a gap
        new = _following(keyring, before, clock.text(runtime.clock.now()), len(heads), digest)
        with runtime.database.write() as db:
            db.lock(Lock.SYSTEM)
            if _end_of(db.maybe(LATEST)) != _end_of(last):
                continue  # another process has just written a checkpoint
            _put(keyring, db, new, listed)
        return Checkpoint(new.number, new.at, new.mark, heads)


def _kept(db: Session, seen: list[ChainEnd], now: list[ChainEnd]) -> list[ChainEnd]:
    """Return the current chain ends, keeping the earlier end of a chain that lost entries. Otherwise the next
    checkpoint would hide the loss.
    """
    ends = {end[0]: end for end in now}
    for end in seen:
        account_id, number, mark = end
        current = ends.get(account_id)
        if current == end:
            continue
        there = db.value(MARK, account_id=account_id, number=number)
        if current is None or current[1] < number or there is None or bytes(there) != mark:
            ends[account_id] = end
    return sorted(ends.values())


def _following(keyring: Keyring, before: Anchor, at: str, accounts: int, digest: bytes) -> StoredCheckpoint:
    """After the last one that there is or was: where some were removed, a gap is left that shows it."""
    number = before.number + 1
    return StoredCheckpoint(
        number, at, accounts, digest, before.mark, mark_of(keyring, number, at, accounts, digest, before.mark)
    )


def _put(keyring: Keyring, db: Session, new: StoredCheckpoint, listed: bytes) -> None:
    if new.number > 1:
        db.update(audit_checkpoint, {"number": new.number - 1}, heads=None)
    db.insert(audit_checkpoint, heads=listed, **msgspec.structs.asdict(new))
    if meta.get(db, ANCHOR) is not None:  # a deleted anchor is not created again: that would hide the deletion
        _note(keyring, db, Anchor(new.number, new.mark))


def _end_of(last: StoredCheckpoint | None) -> Anchor:
    return Anchor(0, BEGINNING) if last is None else Anchor(last.number, bytes(last.mark))


def latest_heads(keyring: Keyring, db: Session, latest: StoredCheckpoint) -> list[ChainEnd] | None:
    """Return the chain ends of the latest checkpoint; None if the checkpoint was altered."""
    listed = db.value(LATEST_HEADS, number=latest.number)
    if listed is None or digest_of(keyring, bytes(listed)) != bytes(latest.digest):
        return None
    return _heads.decode(bytes(listed))


# ---- the note of the last one ---------------------------------------------------------------------------------------


def anchor(keyring: Keyring, db: Session) -> Anchor | None:
    """The last checkpoint that was taken; None if the note of it is gone or was altered."""
    try:
        number, mark, seal = (noted := meta.get(db, ANCHOR) or {})["number"], noted["mark"], noted["seal"]
        anchored = Anchor(int(number), bytes.fromhex(mark))
    except (KeyError, TypeError, ValueError):
        return None
    return anchored if seal == _anchor_seal(keyring, anchored) else None


def _note(keyring: Keyring, db: Session, last: Anchor) -> None:
    meta.put(db, ANCHOR, {"number": last.number, "mark": last.mark.hex(), "seal": _anchor_seal(keyring, last)})


def _anchor_seal(keyring: Keyring, last: Anchor) -> str:
    return keyring.chain(b"anchor" + _encode((last.number, last.mark.hex()))).hex()


def digest_of(keyring: Keyring, listed: bytes) -> bytes:
    return keyring.chain(b"heads" + listed)


def mark_of(keyring: Keyring, number: int, at: str, accounts: int, digest: bytes, previous: bytes) -> bytes:
    return keyring.chain(b"checkpoint" + _encode((number, at, accounts, digest.hex(), previous.hex())))


# ---- files ----------------------------------------------------------------------------------------------------------


def write_file(keyring: Keyring, checkpoint: Checkpoint, path: Path) -> None:
    """Replace the file in one move: a crash leaves the former one."""
    text = _text(checkpoint)
    written = path.with_name(f".{path.name}.new")
    with written.open("w", encoding="utf-8") as file:
        file.write(f"{text}signature {_signature(keyring, text)}\n")
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)


def _text(checkpoint: Checkpoint) -> str:
    """Return a line for the checkpoint and a line for each account."""
    about: dict[str, Any] = {
        "format": FORMAT,
        "number": checkpoint.number,
        "at": checkpoint.at,
        "accounts": len(checkpoint.heads),
        "mark": checkpoint.mark.hex(),
    }
    lines = [f"{account_id} {number} {mark.hex()}" for account_id, number, mark in checkpoint.heads]
    return "\n".join([_encode(about).decode(), *lines, ""])


def read_file(keyring: Keyring, path: Path) -> Checkpoint:
    """Read a checkpoint file. Raise ValueError if the file is not ours or was altered."""
    try:
        text, _, signature = path.read_text(encoding="utf-8").rpartition("signature ")
        if signature.strip() != _signature(keyring, text):
            raise ValueError
        first, *lines = text.splitlines()
        about = msgspec.json.decode(first)
        ends = (line.split() for line in lines)
        heads = [(int(account), int(number), bytes.fromhex(mark)) for account, number, mark in ends]
        return Checkpoint(about["number"], about["at"], bytes.fromhex(about["mark"]), heads)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, ValueError):
        raise ValueError(f"{path} is no checkpoint of this server, or it was altered") from None


def _signature(keyring: Keyring, text: str) -> str:
    return keyring.chain(b"file" + text.encode()).hex()
