"""Audit log: its entries, and detection of changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from httpx2 import Client

from crofter import audit
from crofter.audit import StoredEntry, Tampering
from crofter.context import Context
from crofter.db.journal import HELD, Journal
from crofter.resources.tags.store import tag
from tests import cloud as clouds
from tests.cloud import Cloud
from tests.resources.money import CARD


def record_of(cloud: Cloud, username: str) -> list[StoredEntry]:
    with cloud.runtime.database.read() as db:
        chains = [list(audit.entries(db, account)) for account in sorted(db.column(audit.tables.ACCOUNTS))]
    return next((entries for entries in chains if entries[0].username == username), [])


def verified(cloud: Cloud) -> list[Tampering]:
    with cloud.runtime.database.read() as db:
        return audit.verify(cloud.runtime.keyring, db)


@pytest.mark.both
def test_every_write_leaves_one_entry(cloud: Cloud, alice: Client) -> None:
    alice.post("/v4/tags", json={"label": "web"})
    alice.put("/v4/profile", json={"timezone": "Europe/Berlin"})
    alice.delete("/v4/tags/web")
    entries = record_of(cloud, "alice")
    assert [(entry.number, entry.operation, entry.path) for entry in entries] == [
        (1, "create_tag", "/v4/tags"),
        (2, "update_profile", "/v4/profile"),
        (3, "delete_tag", "/v4/tags/web"),
    ]
    assert [entry.fields for entry in entries] == [["label"], ["timezone"], []]
    assert entries[0].address == "127.0.0.1"
    assert all(entry.token_id and entry.user_id and entry.request_id for entry in entries)
    events = [event["id"] for event in alice.get("/v4/account/events").json()["data"]]
    assert [entry.events for entry in entries] == [[event] for event in reversed(events)]
    assert verified(cloud) == []


def test_reads_and_refusals_leave_none(cloud: Cloud, alice: Client) -> None:
    alice.get("/v4/tags")
    alice.post("/v4/tags", json={"label": "x"})
    alice.delete("/v4/tags/none")
    assert record_of(cloud, "alice") == []


def test_a_write_that_asks_the_world_outside_is_on_record_too(cloud: Cloud, alice: Client) -> None:
    method = {"type": "credit_card", "is_default": False, "data": CARD}
    alice.post("/v4/account/credit-card", json=CARD)
    alice.post("/v4/account/payment-methods", json=method)
    alice.post("/v4/account/payments", json={"usd": "5.00"})
    entries = record_of(cloud, "alice")
    # A two-phase write is recorded before its external call, so that a crash hides nothing.
    assert [(entry.operation, len(entry.events)) for entry in entries] == [
        ("update_credit_card", 1),
        ("create_payment_method", 1),
        ("create_payment", 0),
        ("create_payment", 1),
    ]
    assert entries[2].request_id == entries[3].request_id
    assert [entry.fields for entry in entries][1:] == [["type", "is_default", "data"], ["usd"], ["usd"]]
    assert str(CARD["card_number"]) not in repr(entries)
    assert verified(cloud) == []


def test_a_payment_that_is_declined_is_on_record(cloud: Cloud) -> None:
    carol = cloud.person(username="carol", card="declined")
    assert carol.post("/v4/account/payments", json={"usd": "5.00"}).status_code == 400
    entries = record_of(cloud, "carol")
    assert [(entry.operation, entry.events) for entry in entries] == [("create_payment", [])] * 2
    assert carol.post("/v4/account/payments", json={"usd": "0.01"}).status_code == 400
    assert len(record_of(cloud, "carol")) == 2


@pytest.mark.both
def test_a_repeated_request_is_recorded_once(cloud: Cloud, alice: Client) -> None:
    for _ in range(2):
        assert alice.post("/v4/tags", json={"label": "web"}, headers={"Idempotency-Key": "k"}).status_code == 200
    assert len(record_of(cloud, "alice")) == 1


@pytest.mark.both
def test_each_account_has_a_chain_of_its_own(cloud: Cloud, alice: Client, mallory: Client) -> None:
    for client in (alice, mallory, alice):
        client.put("/v4/profile", json={})
    assert [entry.number for entry in record_of(cloud, "alice")] == [1, 2]
    assert [entry.number for entry in record_of(cloud, "mallory")] == [1]
    assert verified(cloud) == []


def test_secrets_are_not_on_record(cloud: Cloud, alice: Client) -> None:
    made = alice.post("/v4/profile/tokens", json={"label": "canary-label"}).json()
    entry = record_of(cloud, "alice")[-1]
    assert made["token"] not in repr(entry)
    assert "canary-label" not in repr(entry)


TAMPERINGS: dict[str, tuple[list[str], int, str]] = {
    "an entry is altered": (["UPDATE audit SET username = 'mallory' WHERE number = 2"], 2, "it was altered"),
    "a time is altered": (["UPDATE audit SET at = '2001-01-01T00:00:00' WHERE number = 3"], 3, "it was altered"),
    "an address is altered": (["UPDATE audit SET address = '192.0.2.1' WHERE number = 1"], 1, "it was altered"),
    "what was there before is altered": (["UPDATE audit SET before = after WHERE number = 2"], 2, "it was altered"),
    "what was written is altered": (["UPDATE audit SET after = before WHERE number = 4"], 4, "it was altered"),
    "events are altered": (["UPDATE audit SET events = '[]' WHERE number = 1"], 1, "it was altered"),
    "an entry is removed": (["DELETE FROM audit WHERE number = 2"], 2, "an entry is missing"),
    "the first is removed": (["DELETE FROM audit WHERE number = 1"], 1, "an entry is missing"),
    "the last is removed": (["DELETE FROM audit WHERE number = 4"], 4, "entries are missing at the end"),
    "all are removed": (["DELETE FROM audit"], 1, "entries are missing at the end"),
    "the last is removed and the end moved": (
        [
            "DELETE FROM audit WHERE number = 4",
            "UPDATE audit_head SET number = 3, mark = (SELECT mark FROM audit WHERE number = 3)",
        ],
        3,
        "the end of the chain was altered",
    ),
    "the end is removed": (["DELETE FROM audit_head"], 4, "the end of the chain was altered"),
    "two entries change places": (
        [
            "UPDATE audit SET number = -1 WHERE number = 2",
            "UPDATE audit SET number = 2 WHERE number = 3",
            "UPDATE audit SET number = 3 WHERE number = -1",
        ],
        2,
        "it does not follow from the entry before",
    ),
    "one is removed and the rest renumbered": (
        [
            "DELETE FROM audit WHERE number = 2",
            *(f"UPDATE audit SET number = {n - 1} WHERE number = {n}" for n in (3, 4)),
        ],
        2,
        "it does not follow from the entry before",
    ),
}


@pytest.mark.parametrize("tampering", TAMPERINGS)
@pytest.mark.both
def test_tampering_is_found_where_it_happened(cloud: Cloud, alice: Client, tampering: str) -> None:
    statements, number, what = TAMPERINGS[tampering]
    for label in ("one", "two", "three", "four"):
        assert alice.post("/v4/tags", json={"label": label}).status_code == 200
    assert (verified(cloud), clouds.inspect()) == ([], [])  # the events of writes are read from the audit log too
    with cloud.runtime.database.write() as db:
        for statement in statements:
            db.raw(statement)
    (fault,) = verified(cloud)
    assert (fault.number, fault.what) == (number, what)


@pytest.mark.both
def test_an_entry_cannot_be_forged_without_the_key(cloud: Cloud, alice: Client) -> None:
    from crofter.keyring import Keyring
    from crofter.rng import Rng

    alice.post("/v4/tags", json={"label": "web"})
    (entry,) = record_of(cloud, "alice")
    forged: dict[str, Any] = {name: getattr(entry, name) for name in audit.AuditEntry.__struct_fields__}
    with cloud.runtime.database.write() as db:
        audit.append(Keyring(bytes(32), Rng()), db, audit.AuditEntry(**{**forged, "username": "mallory"}))
    (fault,) = verified(cloud)
    assert (fault.number, fault.what) == (2, "it was altered")


def test_an_entry_has_hashes_of_what_was_read_and_written(cloud: Cloud, alice: Client) -> None:
    """``before`` covers every row that the transaction read, ``after`` every statement that wrote, with its values."""
    for timezone in ("Europe/Berlin", "Europe/Paris"):
        assert alice.put("/v4/profile", json={"timezone": timezone}).status_code == 200
    first, second = record_of(cloud, "alice")
    assert len({bytes(hash) for entry in (first, second) for hash in (entry.before, entry.after)}) == 4
    assert {len(hash) for entry in (first, second) for hash in (entry.before, entry.after)} == {32}


@pytest.mark.both
def test_the_hashes_of_an_entry_can_be_made_again_from_what_was_done(cloud: Cloud, alice: Client) -> None:
    alice.put("/v4/profile", json={})
    (entry,) = record_of(cloud, "alice")
    keyring, entries = cloud.runtime.keyring, []
    for label in ("former", "later", "later"):
        with cloud.runtime.database.write() as db:
            ctx = Context(cloud.runtime, db)
            assert db.journal is not None
            db.maybe(audit.tables.HEAD, account_id=entry.account_id)
            db.update(tag, {"account_id": entry.account_id, "label": label}, label=label)
            done = tuple(msgspec.msgpack.encode(journal) for journal in (db.journal.reads, db.journal.writes))
            assert (label.encode() in done[1], bytes(entry.mark) in done[0]) == (True, label == "former")
            audit.write_without_token(ctx, entry.account_id, "alice", "test", "/")
            assert (db.journal.reads, db.journal.writes) == ([], [])
        kept = record_of(cloud, "alice")[-1]
        assert bytes(kept.before) == keyring.chain(b"before" + done[0])
        assert bytes(kept.after) == keyring.chain(b"after" + done[1])
        entries.append(kept)
    assert (entries[0].after != entries[1].after, entries[1].after == entries[2].after) == (True, True)
    assert entries[1].before != entries[2].before
    assert verified(cloud) == []


def test_a_long_transaction_holds_only_so_much() -> None:
    journal, other = Journal(), Journal()
    for number in range(5 * HELD):
        journal.wrote(b"INSERT", (number,))
        other.wrote(b"INSERT", (max(number, 1),))
    assert len(journal.writes) <= HELD
    assert journal.encoded()[1] != other.encoded()[1]
