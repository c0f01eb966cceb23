"""Files that become images, sent to an address of their own."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from httpx2 import Client

from crofter.edge import streamed
from crofter.resources.instances.capture import checks, receiving
from tests.cloud import Cloud
from tests.observed import errors
from tests.sweep import violations

NEW = {"label": "sent", "region": "us-east", "description": "a system"}
FILE = gzip.compress(b"system" * 100_000)


def asked(client: Client) -> tuple[str, str]:
    """An image that waits for its file, and the address for that."""
    answer = client.post("/v4/images/upload", json=NEW)
    assert answer.status_code == 200, answer.text
    assert answer.json()["image"]["status"] == "pending_upload"
    return answer.json()["image"]["id"], answer.json()["upload_to"]


def status(client: Client, image: str) -> str:
    answer = client.get(f"/v4/images/{image}")
    return str(answer.json()["status"]) if answer.status_code == 200 else str(answer.status_code)


def event(client: Client) -> tuple[str, str, str]:
    last = client.get("/v4/account/events").json()["data"][0]
    return last["action"], last["status"], last["entity"]["id"]


def left(cloud: Cloud) -> list[str]:
    return sorted(path.name for path in cloud.runtime.uploads.path.iterdir())


@pytest.mark.both
def test_a_file_becomes_an_image_that_is_deployed(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    image, upload_to = asked(alice)
    assert event(alice) == ("image_upload", "scheduled", image)
    assert upload_to.startswith(str(alice.base_url).rstrip("/") + "/uploads/")
    nobody = cloud.client(None)
    sent = nobody.put(upload_to, content=FILE, headers={"Content-Type": "application/octet-stream"})
    assert (sent.status_code, sent.json()) == (200, {})
    assert status(alice, image) == "creating"
    cloud.settle()
    assert event(alice) == ("image_upload", "finished", image)
    shown = alice.get(f"/v4/images/{image}").json()
    assert (shown["status"], shown["size"], shown["label"]) == ("available", 1, "sent")
    body = {"type": "g6-nanode-1", "region": "us-west", "image": image, "root_pass": "a-long-Winding-r0ad"}
    made = alice.post("/v4/compute/instances", json=body).json()
    cloud.settle()
    assert alice.get(f"/v4/compute/instances/{made['id']}").json()["status"] == "running"
    assert violations(cloud) == []


def test_a_file_is_sent_once(cloud: Cloud, alice: Client) -> None:
    image, upload_to = asked(alice)
    assert alice.put(upload_to, content=FILE).status_code == 200
    assert alice.put(upload_to, content=FILE).status_code == 409
    cloud.settle()
    assert alice.put(upload_to, content=FILE).status_code == 409
    alice.delete(f"/v4/images/{image}")
    assert alice.put(upload_to, content=FILE).status_code == 404


@pytest.mark.parametrize("path", ["/uploads", "/uploads/", "/uploads/abc", "/uploads/" + "0" * 64, "/uploads/a/b"])
def test_who_does_not_know_the_address_sends_nothing(cloud: Cloud, path: str) -> None:
    assert cloud.client(None).put(path, content=FILE).status_code == 404
    answer = cloud.client(None).get(path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "OPTIONS, PUT")


BOMB = gzip.compress(bytes(3 * checks.MB))


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (b"", checks.EMPTY),
        (b"no gzip at all", checks.NOT_GZIP),
        (gzip.compress(b""), checks.EMPTY),
        (FILE[:-1], checks.TRUNCATED),
        (FILE[:-8] + bytes(8), checks.NOT_GZIP),
        (FILE + b"more", checks.NOT_GZIP),
        (zlib.compress(b"system"), checks.NOT_GZIP),
        (BOMB, checks.TOO_LARGE),
        (BOMB[:1000], checks.TRUNCATED),
    ],
    ids=[f"file {number}" for number in range(1, 10)],  # not by their bytes, which contain the time
)
def test_a_hostile_file_is_refused(
    cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch, file: bytes, reason: str
) -> None:
    monkeypatch.setattr(checks, "MOST_UNPACKED", 2)
    image, upload_to = asked(alice)
    refused = alice.put(upload_to, content=file)
    assert (refused.status_code, errors(refused)) == (400, [(None, reason)])
    assert (status(alice, image), left(cloud)) == ("pending_upload", [])
    assert alice.put(upload_to, content=FILE + bytes(512) + FILE).status_code == 200, "it may be sent again"
    cloud.settle()
    assert status(alice, image) == "available"


def test_a_file_that_is_too_long_is_refused(cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "MOST_BYTES", 100)
    _, upload_to = asked(alice)

    def pieces() -> Iterator[bytes]:
        yield FILE[:50]
        yield FILE[50:150]

    assert alice.put(upload_to, content=FILE).status_code == 413
    assert alice.put(upload_to, content=pieces()).status_code == 413
    assert left(cloud) == []


def test_an_upload_that_never_comes_is_over_after_a_day(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    image, upload_to = asked(alice)
    cloud.settle()
    cloud.advance(24 * 3600 - 10)
    assert status(alice, image) == "pending_upload"
    cloud.advance(20)
    cloud.settle()
    assert status(alice, image) == "404"
    assert event(alice) == ("image_upload", "failed", image)
    assert alice.put(upload_to, content=FILE).status_code == 404


def test_an_image_that_waits_can_be_deleted(cloud: Cloud, alice: Client) -> None:
    image, upload_to = asked(alice)
    assert alice.delete(f"/v4/images/{image}").status_code == 200
    assert alice.put(upload_to, content=FILE).status_code == 404
    cloud.settle()
    data = alice.get("/v4/account/events").json()["data"]
    assert [(event["action"], event["status"]) for event in data] == [
        ("image_delete", "finished"),
        ("image_upload", "failed"),
    ]


def test_what_is_asked_for_is_checked(alice: Client) -> None:
    assert errors(alice.post("/v4/images/upload", json={})) == [
        ("region", "region is required"),
        ("label", "label is required"),
    ]
    wrong = alice.post("/v4/images/upload", json={"label": "x", "region": "nowhere"})
    assert errors(wrong) == [("region", "region is not valid")]


def test_a_sender_that_stops_leaves_nothing(cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    image, upload_to = asked(alice)
    with monkeypatch.context() as impatient:
        impatient.setattr(streamed, "IDLE_SECONDS", 0.3)
        with half_sent(upload_to) as connection:
            assert b" 408 " in connection.recv(1000)
    settled(cloud)
    with half_sent(upload_to):
        wait_for(lambda: len(left(cloud)) == 1)
    settled(cloud)
    assert (status(alice, image), left(cloud)) == ("pending_upload", [])


def test_two_do_not_send_one_file_at_once(cloud: Cloud, alice: Client) -> None:
    _, upload_to = asked(alice)
    with half_sent(upload_to):
        wait_for(lambda: len(left(cloud)) == 1)
        assert alice.put(upload_to, content=FILE).status_code == 409
    settled(cloud)
    assert alice.put(upload_to, content=FILE).status_code == 200


def test_an_account_sends_a_few_files_at_once(cloud: Cloud, alice: Client, mallory: Client) -> None:
    addresses = [asked(alice)[1] for _ in range(receiving.PER_ACCOUNT + 1)]
    with half_sent(addresses[0]), half_sent(addresses[1]):
        wait_for(lambda: len(left(cloud)) == 2)
        assert alice.put(addresses[2], content=FILE).status_code == 429
        assert mallory.put(asked(mallory)[1], content=FILE).status_code == 200


def test_a_full_process_sends_senders_away(cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "AT_ONCE", 0)
    refused = alice.put(asked(alice)[1], content=FILE)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")


def test_a_full_disk_takes_no_file(cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "SPARE", 2**60)
    assert alice.put(asked(alice)[1], content=FILE).status_code == 503
    assert left(cloud) == []


def test_files_that_a_dead_process_left_are_swept_away(cloud: Cloud, alice: Client) -> None:
    image, _ = asked(alice)
    number = image.partition("/")[2]
    folder = cloud.runtime.uploads.path
    for name in (f"{number}.part", f"{number}.gz", "9999.gz", "9999.part"):
        (folder / name).write_bytes(b"left")
    receiving.sweep(cloud.runtime)
    assert left(cloud) == []


# ---- tools ----------------------------------------------------------------------------------------------------------


def half_sent(upload_to: str) -> Any:
    """A connection on which half of a file was sent."""
    where = urlsplit(upload_to)
    connection = socket.create_connection((where.hostname, where.port), timeout=10)
    head = f"PUT {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: {len(FILE)}\r\n\r\n"
    connection.sendall(head.encode() + FILE[: len(FILE) // 2])
    return connection


def wait_for(condition: Any) -> None:
    pause = threading.Event()
    for _ in range(200):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError("it never came to that")


def settled(cloud: Cloud) -> None:
    wait_for(lambda: left(cloud) == [])
