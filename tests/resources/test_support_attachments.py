"""Files attached to tickets: what is kept, what is refused, and that nothing of it does harm."""

from __future__ import annotations

import gzip
import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from httpx2 import Client
from playwright.sync_api import Error as PlaywrightError

from crofter.errors import Invalid
from crofter.resources.support import files
from tests.cloud import Cloud
from tests.login.browser import browser
from tests.observed import errors
from tests.pictures import picture

PATH = "/v4/support/tickets/1/attachments"
EICAR = b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$" + b"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


@cache
def archive(size: int = 50_000_000) -> bytes:
    """Return a small archive of a large file."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made, made.open("zeros", "w") as file:
        for _ in range(max(1, size // 1_000_000)):
            file.write(b"\0" * min(size, 1_000_000))
    return written.getvalue()


@cache
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
@pytest.mark.both
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_holds_no_control_characters_but_those_of_a_log(encoding: str) -> None:
    good = [code for code in range(0x300) if checks_text(f"a{chr(code)}".encode(encoding))]
    assert good == [8, 9, 10, 12, 13, 27, *range(32, 0x300)]


def test_text_is_not_looked_at_character_by_character() -> None:
    steps = 0

    def count(*_event: Any) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        files.checked("a.txt", b"x" * 10_000)
    finally:
        sys.setprofile(None)
    assert steps < 1000


def checks_text(content: bytes) -> bool:
    try:
        return files.checked("a.txt", content) == "a.txt"
    except Invalid:
        return False


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
    "a program as a document": ("invoice.pdf", lambda: b"MZ\x90\x00" + b"\0" * 100 + b"%%EOF"),
    "a page before a document": ("a.pdf", lambda: b"<script>alert(1)</script>" + PDF),
    "a document as a picture": ("a.png", lambda: PDF),
    "an office document": ("a.docx", lambda: b"PK\x03\x04[Content_Types].xml"),
    "an office document with macros": ("a.docm", lambda: b"PK\x03\x04word/vbaProject.bin"),
    "an old office document as another": ("a.pdf", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500),
    "an archive that unfolds without end": ("a.zip", archive),
    "an archive that unfolds without end, as text": ("a.txt", archive),
    "an archive that unfolds without end, as a picture": ("a.gif", archive),
    "text that unfolds without end": ("a.txt", lambda: gzip.compress(b"\0" * 10_000_000)),
    "an extension in other letters": ("a.t\u0445t", lambda: b"text"),
    "a stream of a file system": ("a.txt::$DATA", lambda: b"text"),
    "a second extension that counts": ("a.png.php", lambda: picture("PNG")),
    "a shortcut": ("a.txt.lnk", lambda: b"L\0\0\0\x01\x14\x02\0"),
}


def test_a_hostile_file_is_refused(alice: Client) -> None:
    for what, (name, content) in REFUSED.items():
        answer = send(alice, name, content())
        assert answer.status_code == 400, what
        assert [field for field, _ in errors(answer)] == ["file"], what
        assert attached(alice) == [], what
    assert alice.get("/v4/account/events").json()["results"] == 1


HARMLESS: dict[str, tuple[str, bytes, str]] = {
    "a path": ("../../etc/passwd.txt", b"text", "passwd.txt"),
    "a path of Windows": ("C:\\Windows\\system32\\a.txt", b"text", "a.txt"),
    "a web page as text": ("a.txt", b"<script>alert(1)</script>", "a.txt"),
    "a picture with a page behind it": ("a.gif", picture("GIF") + b"<script>alert(1)</script>", "a.gif"),
    "a document with a script": ("a.pdf", PDF.replace(b"<<", b"<</OpenAction<</S/JavaScript/JS(x)>>", 1), "a.pdf"),
    "a virus in words": ("a.txt", EICAR, "a.txt"),
    "a second extension": ("a.php.png", picture("PNG"), "a.php.png"),
    "quotes": ('a"; x="b.txt', b"text", "a_22; x=_22b.txt"),  # quoted as browsers do
    "a formula": ("=cmd|' /C calc'!A0.txt", b"=1+1", "C calc'!A0.txt"),
    "a name that reads backwards": ("a\u202etxt.png", picture("PNG"), "atxt.png"),
    "a page that is a document too": ("a.pdf", PDF.replace(b"\n", b"\n<script>alert(1)</script>\n", 1), "a.pdf"),
    "a picture that is an archive too": ("a.png", picture("PNG") + archive(10), "a.png"),
    "a script in a picture's comment": ("a.gif", picture("GIF", comment=b"*/=1;alert(1)//<?php x();?>"), "a.gif"),
    "a page in another encoding": ("a.txt", "<script>alert(1)</script>".encode("utf-16"), "a.txt"),
    "a program in words": ("a.txt", b"<?php system($_GET[0]); ?>\n#!/bin/sh\nrm -rf /\n", "a.txt"),
    "a header in a name": ("a%0d%0aX-Evil: 1.txt", b"text", "a_0d_0aX-Evil_ 1.txt"),
    "a hidden name": (".htaccess.txt", b"text", "htaccess.txt"),
    "a letter nobody sees": ("a.t\u200bxt", b"text", "a.txt"),
    "a long name": ("n" * 300 + ".txt", b"text", "n" * 96 + ".txt"),
}


def test_a_hostile_file_that_is_kept_does_no_harm(alice: Client) -> None:
    for what, (name, content, kept) in HARMLESS.items():
        ticket = alice.post("/v4/support/tickets", json={"summary": "s", "description": what}).json()["id"]
        path = f"/v4/support/tickets/{ticket}"
        assert send(alice, name, content, path=f"{path}/attachments").status_code == 200, what
        assert alice.get(path).json()["attachments"] == [kept], what
        fetched = alice.get(f"{path}/attachments/{kept}")
        assert fetched.content == content, what
        assert_harmless(fetched)


def test_a_browser_saves_what_is_attached_and_shows_none_of_it() -> None:
    """A real one, which goes to the very address with the token of a user."""
    cloud = Cloud()
    account = cloud.account(username="alice")
    alice = cloud.client(account["token"])
    alice.post("/v4/support/tickets", json={"summary": "s", "description": "d"})
    tried = ("a web page as text", "a picture with a page behind it", "a document with a script")
    for what in tried:
        name, content, _ = HARMLESS[what]
        assert send(alice, name, content).status_code == 200
    with browser() as chromium:
        signed_in = chromium.new_context(extra_http_headers={"Authorization": f"Bearer {account['token']}"})
        page = signed_in.new_page()
        for name in attached(alice):
            with page.expect_download() as download, pytest.raises(PlaywrightError, match="Download is starting"):
                page.goto(f"{cloud.url}{PATH}/{name}")
            assert download.value.suggested_filename == name
            assert (page.url, page.content()) == ("about:blank", "<html><head></head><body></body></html>")
        signed_in.close()
    cloud.close()


def test_the_tables_are_long_enough() -> None:
    assert len(REFUSED) >= 40
    assert len(HARMLESS) >= 15
    assert len(BROKEN) >= 15


def test_two_files_of_one_name_are_kept_apart(alice: Client) -> None:
    for content in (b"one", b"two", b"three"):
        send(alice, "a.txt", content)
    assert attached(alice) == ["a.txt", "a-2.txt", "a-3.txt"]
    assert alice.get(f"{PATH}/a-2.txt").content == b"two"


def part(
    content: bytes, disposition: bytes = b'form-data; name="file"; filename="a.txt"', boundary: bytes = b"x"
) -> bytes:
    return b"--%b\r\nContent-Disposition: %b\r\n\r\n%b\r\n" % (boundary, disposition, content)


FORM = "multipart/form-data; boundary=x"
BROKEN: dict[str, tuple[str, bytes]] = {
    "nothing": (FORM, b""),
    "a beginning alone": (FORM, b"--x\r\n"),
    "an end alone": (FORM, b"--x--\r\n"),
    "another boundary": (FORM, part(b"text", boundary=b"y") + b"--y--\r\n"),
    "no boundary": ("multipart/form-data", part(b"text") + b"--x--\r\n"),
    "an empty boundary": ('multipart/form-data; boundary=""', part(b"text", boundary=b"") + b"----\r\n"),
    "a boundary without end": (f"multipart/form-data; boundary={'x' * 4000}", part(b"text") + b"--x--\r\n"),
    "a file that is cut off": (FORM, part(b"text")[:-6]),
    "a form that is cut off": (FORM, part(b"text")),
    "a part without a name": (FORM, part(b"text", b'form-data; filename="a.txt"') + b"--x--\r\n"),
    "a part of another name": (FORM, part(b"text", b'form-data; name="other"; filename="a.txt"') + b"--x--\r\n"),
    "a file without a name": (FORM, part(b"text", b'form-data; name="file"') + b"--x--\r\n"),
    "two files at once": (FORM, part(b"one") + part(b"two") + b"--x--\r\n"),
    "a picture's name, then a program's": (
        FORM,
        part(b"MZ", b'form-data; name="file"; filename="a.png"; filename="a.exe"') + b"--x--\r\n",
    ),
    "bytes as a name": (FORM, part(b"text", b'form-data; name="file"; filename="\xff\xfe.exe"') + b"--x--\r\n"),
    "parts without end": (FORM, part(b"", b'form-data; name="a"') * 1000 + b"--x--\r\n"),
    "a header without end": (FORM, b"--x\r\nX-Header: " + b"y" * 100_000 + b"\r\n\r\n\r\n--x--\r\n"),
    "a header without a colon": (FORM, b"--x\r\nContent-Disposition\r\n\r\ntext\r\n--x--\r\n"),
    "a form inside a form": (
        FORM,
        b"--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n"
        + part(b"text", boundary=b"y")
        + b"--y--\r\n--x--\r\n",
    ),
}


def test_a_form_that_cannot_be_read_is_refused(alice: Client) -> None:
    for what, (kind, body) in BROKEN.items():
        answer = alice.post(PATH, content=body, headers={"Content-Type": kind})
        assert answer.status_code == 400, what
        assert [field for field, _ in errors(answer)] == ["file"], what
        assert attached(alice) == [], what


def test_a_name_that_forms_may_not_have_is_not_read(alice: Client) -> None:
    names = b'form-data; name="file"; filename="a.txt"; filename*=UTF-8\'\'a.exe'
    form = part(b"MZ", names) + b"--x--\r\n"
    assert alice.post(PATH, content=form, headers={"Content-Type": FORM}).status_code == 200
    assert attached(alice) == ["a.txt"]


def test_what_is_no_form_is_refused(alice: Client) -> None:
    assert alice.post(PATH, json={"file": "text"}).status_code == 415
    kind = "multipart/form-data; boundary=x, application/json"
    answer = alice.post(PATH, content=b"{}", headers={"Content-Type": kind})
    assert (answer.status_code, errors(answer)) == (400, [("file", "The form cannot be read")])
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
