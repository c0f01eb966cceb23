"""Verification of the audit log: chains of accounts, chain of checkpoints, and entries that checkpoints name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from crofter.audit import checkpoints
from crofter.audit.checkpoints import ChainEnd, Checkpoint
from crofter.audit.tables import ACCOUNTS, BEGINNING, CHECKPOINTS, HEAD, StoredCheckpoint, Tampering
from crofter.audit.writing import entries, mark_of, seal_of
from crofter.db import Session
from crofter.keyring import Keyring

Seen = dict[int, bytes]
"""Marks that checkpoints have seen in one account's chain, by the number of the entry."""


def verify(keyring: Keyring, db: Session, outside: Checkpoint | None = None) -> list[Tampering]:
    """Every chain that is broken, with the first place where it is; compared with a checkpoint from outside, too."""
    broken, heads = _verify_checkpoints(keyring, db, outside)
    seen: defaultdict[int, Seen] = defaultdict(dict)
    for account_id, number, mark in heads:
        seen[account_id][number] = mark
    tampered = [] if broken is None else [broken]
    for end in outside.heads if outside is not None else ():
        account_id, number, mark = end
        if seen[account_id].setdefault(number, mark) != mark:
            tampered.append(Tampering(account_id, number, "the checkpoints disagree about it"))
    for account_id in sorted({*db.column(ACCOUNTS), *seen}):
        if (tampering := _verify(keyring, db, account_id, seen.get(account_id, {}))) is not None:
            tampered.append(tampering)
    return tampered


def _verify(keyring: Keyring, db: Session, account_id: int, seen: Seen) -> Tampering | None:
    number, mark = 0, BEGINNING
    for entry in entries(db, account_id):
        if entry.number != number + 1:
            return Tampering(account_id, number + 1, "an entry is missing")
        if bytes(entry.previous) != mark:
            return Tampering(account_id, entry.number, "it does not follow from the entry before")
        if bytes(entry.mark) != mark_of(keyring, entry.number, mark, entry.entry()):
            return Tampering(account_id, entry.number, "it was altered")
        number, mark = entry.number, bytes(entry.mark)
        if seen.get(number, mark) != mark:
            return Tampering(account_id, number, "it is not the entry that a checkpoint has seen")
    head = db.maybe(HEAD, account_id=account_id)
    if head is None and number == 0:
        return Tampering(account_id, 1, "all entries are missing that a checkpoint has seen")
    if head is None or bytes(head.seal) != seal_of(keyring, account_id, head.number, bytes(head.mark)):
        return Tampering(account_id, number, "the end of the chain was altered")
    if (head.number, bytes(head.mark)) != (number, mark):
        return Tampering(account_id, number + 1, "entries are missing at the end")
    if max(seen, default=0) > number:
        return Tampering(account_id, number + 1, "entries are missing at the end that a checkpoint has seen")
    return None


def _verify_checkpoints(
    keyring: Keyring, db: Session, outside: Checkpoint | None
) -> tuple[Tampering | None, list[ChainEnd]]:
    """The first fault in the chain of checkpoints, and the heads that the latest one has seen."""
    number, mark, latest, fault = 0, BEGINNING, None, None
    known = outside is None
    for latest in _checkpoints(db):
        fault = fault or _checkpoint_fault(keyring, latest, number, mark)
        number, mark = latest.number, bytes(latest.mark)
        known = known or (outside is not None and (outside.number, outside.mark) == (number, mark))
    heads = checkpoints.latest_heads(keyring, db, latest) if latest is not None else []
    noted = checkpoints.anchor(keyring, db)
    if fault is None and noted is None:
        fault = Tampering(None, number, "the note of the last checkpoint is missing or was altered")
    if fault is None and noted is not None and (noted.number, noted.mark) != (number, mark):
        fault = Tampering(None, number + 1, "checkpoints are missing at the end")
    if fault is None and heads is None:
        fault = Tampering(None, number, "what the checkpoint has seen was altered")
    if fault is None and outside is not None and not known:
        fault = Tampering(None, outside.number, "it is not the checkpoint that the file holds")
    return fault, heads or []


def _checkpoints(db: Session) -> Iterator[StoredCheckpoint]:
    after = 0
    while page := db.all(CHECKPOINTS, after=after):
        yield from page
        after = page[-1].number


def _checkpoint_fault(keyring: Keyring, checkpoint: StoredCheckpoint, number: int, mark: bytes) -> Tampering | None:
    if checkpoint.number != number + 1:
        return Tampering(None, number + 1, "a checkpoint is missing")
    if bytes(checkpoint.previous) != mark:
        return Tampering(None, checkpoint.number, "it does not follow from the checkpoint before")
    if bytes(checkpoint.mark) != checkpoints.mark_of(
        keyring, checkpoint.number, checkpoint.at, checkpoint.accounts, bytes(checkpoint.digest), mark
    ):
        return Tampering(None, checkpoint.number, "the checkpoint was altered")
    return None
