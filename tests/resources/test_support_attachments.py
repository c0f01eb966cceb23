"""Files attached to tickets: what is kept, what is refused, and that nothing of it does harm."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from httpx2 import Client
from PIL import Image

from tests.cloud import Cloud

PATH = "/v4/support/tickets/1/attachments"
EICAR = b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$" + b"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


def picture(kind: str, size: tuple[int, int] = (8, 8)) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, "red").save(written, kind)
    return written.getvalue()


def bomb() -> bytes:
    """A picture of 30,000 by 30,000 that is small as a file."""
    rows = zlib.compressobj()
    data = b"".join(rows.compress(b"\0" * 3751) for _ in range(30_000)) + rows.flush()

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", 30_000, 30_000, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.fixture
def alice(alice: Client) -> Client:
    """With a ticket to attach things to."""
    assert alice.post("/v4/support/tickets", json={"summary": "s", "description": "d"}).status_code == 200
    return alice


def send(client: Client, name: str, content: bytes, field: str = "file", path: str = PATH) -> Any:
    return client.post(path, files={field: (name, content)})


def errors(answer: Any) -> list[tuple[str | None, str]]:
    return [(one.get("field"), one["reason"]) for one in answer.json()["errors"]]


def attached(client: Client) -> list[str]:
    return list(client.get("/v4/support/tickets/1").json()["attachments"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", picture("PNG")),
        ("a.gif", picture("GIF")),
        ("a.jpg", picture("JPEG")),
        ("a.JPEG", picture("JPEG")),
        ("a.pjpg", picture("JPEG")),
        ("a.pjpeg", picture("JPEG")),
        ("a.tif", picture("TIFF")),
        ("a.tiff", picture("TIFF")),
        ("a.pdf", PDF),
        ("a.txt", "Grüße\n".encode()),
        ("utf-16.txt", "Grüße\n".encode("utf-16")),
        ("log.txt", b"\x1b[31mred\x1b[0m\ttab\r\n"),
        ("large.txt", b"x" * 5 * 1024 * 1024),
    ],
)
def test_a_good_file_is_attached_and_comes_back_as_it_was(alice: Client, name: str, content: bytes) -> None:
    answer = send(alice, name, content)
    assert (answer.status_code, answer.json()) == (200, {})
    assert attached(alice) == [name]
    fetched = alice.get(f"{PATH}/{name}")
    assert fetched.content == content
    assert_harmless(fetched)
    events = alice.get("/v4/account/events").json()["data"]
    assert [event["action"] for event in events] == ["ticket_attachment_upload", "ticket_create"]
    assert events[0]["entity"]["type"] == "ticket"


def assert_harmless(fetched: Any) -> None:
    """A browser saves it, and neither shows nor runs it."""
    assert fetched.headers["content-type"] == "application/octet-stream"
    assert fetched.headers["content-disposition"].startswith("attachment;")
    assert fetched.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert fetched.headers["x-content-type-options"] == "nosniff"
    assert fetched.headers["cross-origin-resource-policy"] == "same-origin"
    assert "no-store" in fetched.headers["cache-control"]


REFUSED: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a program": ("run.exe", lambda: b"MZ\x90\x00"),
    "a program behind a picture's name": ("a.png.exe", lambda: picture("PNG")),
    "a program as a picture": ("a.png", lambda: b"MZ\x90\x00" + b"\0" * 100),
    "a web page": ("a.html", lambda: b"<script>alert(1)</script>"),
    "a web page as a picture": ("a.gif", lambda: b"<html><script>alert(1)</script>"),
    "a vector picture with a script": ("a.svg", lambda: b"<svg onload='alert(1)'/>"),
    "a vector picture as another": ("a.png", lambda: b"<svg onload='alert(1)'/>"),
    "an archive": ("a.zip", lambda: b"PK\x03\x04"),
    "an archive as a document": ("a.pdf", lambda: b"PK\x03\x04" + b"\0" * 100),
    "a document without its end": ("a.pdf", lambda: b"%PDF-1.4\n"),
    "a picture that is cut off": ("a.png", lambda: picture("PNG")[:40]),
    "a picture with its head alone": ("a.gif", lambda: b"GIF89a"),
    "a script behind a picture's head": ("a.jpg", lambda: b"\xff\xd8\xff\xe0<?php system($_GET[0]); ?>"),
    "a picture that unfolds without end": ("a.png", bomb),
    "another kind of picture": ("a.png", lambda: picture("JPEG")),
    "a kind of picture nobody asked for": ("a.bmp", lambda: picture("BMP")),
    "PostScript as a picture": ("a.tif", lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n"),
    "bytes as text": ("a.txt", lambda: b"\x00\x01\x02\x03"),
    "a program as text": ("a.txt", lambda: b"\x7fELF\x02\x01\x01\x00"),
    "text in no encoding": ("a.txt", lambda: b"\xff\xfeab\xd8"),
    "nothing": ("a.txt", lambda: b""),
    "no extension": ("README", lambda: b"text"),
    "an extension alone": (".txt.", lambda: b"text"),
    "dots": ("....txt", lambda: b"text"),
    "no name": ("", lambda: b"text"),
    "a name that reads backwards": ("a\u202egnp.exe", lambda: picture("PNG")),
    "a name cut by a null": ("a.exe\x00.png", lambda: b"MZ"),
    "more than 5 MB": ("a.txt", lambda: b"x" * (5 * 1024 * 1024 + 1)),
    "much more than 5 MB": ("a.txt", lambda: b"x" * (20 * 1024 * 1024)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_hostile_file_is_refused(alice: Client, what: str) -> None:
    name, content = REFUSED[what]
    answer = send(alice, name, content())
    assert answer.status_code == 400
    assert [field for field, _ in errors(answer)] == ["file"]
    assert attached(alice) == []
    assert alice.get("/v4/account/events").json()["results"] == 1


HARMLESS: dict[str, tuple[str, bytes, str]] = {
    "a path": ("../../etc/passwd.txt", b"text", "passwd.txt"),
    "a path of Windows": ("C:\\Windows\\system32\\a.txt", b"text", "a.txt"),
    "a web page as text": ("a.txt", b"<script>alert(1)</script>", "a.txt"),
    "a picture with a page behind it": ("a.gif", picture("GIF") + b"<script>alert(1)</script>", "a.gif"),
    "a document with a script": ("a.pdf", PDF.replace(b"<<", b"<</OpenAction<</S/JavaScript/JS(x)>>", 1), "a.pdf"),
    "a virus in words": ("a.txt", EICAR, "a.txt"),
    "a second extension": ("a.php.png", picture("PNG"), "a.php.png"),
    "quotes": ('a"; x="b.txt', b"text", "a_22; x=_22b.txt"),  # as browsers send it
    "a formula": ("=cmd|' /C calc'!A0.txt", b"=1+1", "C calc'!A0.txt"),
    "a name that reads backwards": ("a\u202etxt.png", picture("PNG"), "atxt.png"),
    "a long name": ("n" * 300 + ".txt", b"text", "n" * 96 + ".txt"),
}


@pytest.mark.parametrize("what", HARMLESS)
def test_a_hostile_file_that_is_kept_does_no_harm(alice: Client, what: str) -> None:
    name, content, kept = HARMLESS[what]
    assert send(alice, name, content).status_code == 200
    assert attached(alice) == [kept]
    fetched = alice.get(f"{PATH}/{kept}")
    assert fetched.content == content
    assert_harmless(fetched)
    assert "\n" not in fetched.headers["content-disposition"]


def test_the_tables_are_long_enough() -> None:
    assert len(REFUSED) + len(HARMLESS) >= 25


def test_two_files_of_one_name_are_kept_apart(alice: Client) -> None:
    for content in (b"one", b"two", b"three"):
        send(alice, "a.txt", content)
    assert attached(alice) == ["a.txt", "a-2.txt", "a-3.txt"]
    assert alice.get(f"{PATH}/a-2.txt").content == b"two"


def test_a_form_that_cannot_be_read_is_refused(alice: Client) -> None:
    assert errors(send(alice, "a.txt", b"text", field="other")) == [("file", "file is required")]
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    for body in (b"", b"--x\r\n", b"--y--\r\n", b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\ntext'):
        assert alice.post(PATH, content=body, headers=kind).status_code == 400
    assert alice.post(PATH, content=b"x", headers={"Content-Type": "multipart/form-data"}).status_code == 400
    many = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n' * 1000 + b"--x--\r\n"
    assert alice.post(PATH, content=many, headers=kind).status_code == 400
    huge = b"--x\r\nX-Header: " + b"y" * 100_000 + b"\r\n\r\n\r\n--x--\r\n"
    assert alice.post(PATH, content=huge, headers=kind).status_code == 400
    assert alice.post(PATH, json={"file": "text"}).status_code == 415
    assert attached(alice) == []


def test_a_closed_ticket_takes_no_files(alice: Client) -> None:
    alice.post("/v4/support/tickets/1/close")
    assert send(alice, "a.txt", b"text").status_code == 400


def test_a_ticket_takes_so_many_files(alice: Client) -> None:
    for _ in range(20):
        assert send(alice, "a.txt", b"text").status_code == 200
    refused = send(alice, "a.txt", b"text")
    assert [field for field, _ in errors(refused)] == ["file"]


def test_somebody_elses_files_are_not_there(cloud: Cloud, alice: Client, mallory: Client) -> None:
    send(alice, "a.txt", b"secret")
    assert mallory.get(f"{PATH}/a.txt").status_code == 404
    assert send(mallory, "b.txt", b"text").status_code == 404
    assert alice.get(f"{PATH}/b.txt").status_code == 404
    assert cloud.client(None).get(f"{PATH}/a.txt").status_code == 401
