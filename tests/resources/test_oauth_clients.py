"""OAuth clients, through HTTP."""

from __future__ import annotations

import struct
import sys
import threading
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client
from PIL import Image

from crofter.db import query
from crofter.db.sql import select
from crofter.drivers.pictures import image_cleaner
from crofter.resources.oauth.store import client as clients
from tests.cloud import Cloud
from tests.observed import actions, errors
from tests.pictures import picture
from tests.resources.test_profile_tokens import authorise

CALLBACK = "https://planner.example/oauth/callback"
PATH = "/v4/account/oauth-clients"


def register(owner: Client, **more: Any) -> dict[str, Any]:
    answer = owner.post(PATH, json={"label": "Planner", "redirect_uri": CALLBACK, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def digest(cloud: Cloud, client_id: str) -> bytes:
    with cloud.runtime.database.read() as db:
        stored = db.value(query(select(clients.c.secret_digest).where(clients.c.public_id == client_id)))
    return bytes(stored)


@pytest.mark.both
def test_a_client_is_registered_and_its_secret_stays_hidden(alice: Client) -> None:
    made = register(alice)
    assert len(made["id"]) == 20
    int(made["id"], 16)
    assert made == {
        "id": made["id"],
        "label": "Planner",
        "public": False,
        "redirect_uri": CALLBACK,
        "secret": "<REDACTED>",
        "status": "active",
        "thumbnail_url": None,
    }
    assert alice.get(f"{PATH}/{made['id']}").json() == made
    assert alice.get(PATH).json()["data"] == [made]
    event = alice.get("/v4/account/events").json()["data"][0]
    assert event["action"] == "oauth_client_create"
    assert event["entity"] == {
        "id": made["id"],
        "label": "Planner",
        "type": "oauth_client",
        "url": f"{PATH}/{made['id']}",
    }


def test_the_secret_is_told_when_it_is_reset_and_never_again(cloud: Cloud, alice: Client) -> None:
    made = register(alice)
    path = f"{PATH}/{made['id']}"
    before = digest(cloud, made["id"])
    first = alice.post(f"{path}/reset-secret").json()
    assert first == made | {"secret": first["secret"]}
    assert first["secret"].startswith("ccs_")
    assert digest(cloud, made["id"]) == cloud.runtime.keyring.digest(first["secret"]) != before
    second = alice.post(f"{path}/reset-secret").json()
    assert second["secret"] != first["secret"]
    assert digest(cloud, made["id"]) == cloud.runtime.keyring.digest(second["secret"])
    for answer in (alice.get(path), alice.put(path, json={}), alice.get(PATH)):
        assert second["secret"] not in answer.text
        assert "<REDACTED>" in answer.text
    assert actions(alice)[1] == "oauth_client_secret_reset"


def test_a_client_is_changed_in_part(alice: Client) -> None:
    made = register(alice)
    path = f"{PATH}/{made['id']}"
    changed = alice.put(path, json={"label": "New", "public": True, "id": "x", "secret": "known", "status": "disabled"})
    assert changed.json() == made | {"label": "New", "public": True}
    moved = alice.put(path, json={"redirect_uri": "http://127.0.0.1/cb", "label": None})
    assert moved.json() == made | {"label": "New", "public": True, "redirect_uri": "http://127.0.0.1/cb"}
    assert actions(alice) == ["oauth_client_update", "oauth_client_update", "oauth_client_create"]


def test_a_deleted_client_takes_its_tokens_with_it(cloud: Cloud, alice: Client) -> None:
    _, plain = authorise(cloud, alice, "alice", "account:read_write")
    planner = cloud.client(plain)
    assert planner.put("/v4/profile/preferences", json={"theme": "dark"}).status_code == 200
    (listed,) = alice.get(PATH).json()["data"]
    assert alice.delete(f"{PATH}/{listed['id']}").json() == {}
    assert planner.get("/v4/profile").status_code == 401
    assert alice.get(f"{PATH}/{listed['id']}").status_code == 404
    assert alice.get("/v4/profile/apps").json()["results"] == 0
    assert actions(alice)[0] == "oauth_client_delete"


def test_what_cannot_be_a_client_is_refused_with_every_reason(alice: Client) -> None:
    answer = alice.post(PATH, json={"label": "", "public": 1})
    assert answer.status_code == 400
    assert errors(answer) == [
        ("label", "Length must be 1-512 characters"),
        ("public", "Must be of type Boolean"),
        ("redirect_uri", "redirect_uri is required"),
    ]
    long = alice.post(PATH, json={"label": "x" * 513, "redirect_uri": CALLBACK})
    assert errors(long) == [("label", "Length must be 1-512 characters")]
    assert alice.post(PATH, json={"label": "x" * 512, "redirect_uri": CALLBACK}).status_code == 200


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "callback",
        "/callback",
        "https://",
        "http://planner.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://10.0.0.1/cb",
        "https://planner.example/cb#fragment",
        "https://planner.example/cb#",
        "https://user:pass@planner.example/cb",
        "https://planner.example\\@evil.example/",
        "https://planner.example/a b",
        "https://plänner.example/cb",
        "https://planner.example:99999/cb",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://planner.example/cb",
        "https://planner.example/" + "x" * 2048,
    ],
)
def test_codes_are_sent_to_safe_addresses_only(alice: Client, uri: str) -> None:
    answer = alice.post(PATH, json={"label": "Planner", "redirect_uri": uri})
    assert answer.status_code == 400
    assert [field for field, _ in errors(answer)] == ["redirect_uri"]


@pytest.mark.parametrize(
    "uri", ["http://localhost:8080/cb", "http://127.0.0.1/cb", "http://[::1]:9/cb", "https://a.example/cb?x=1&y=2"]
)
def test_programs_on_ones_own_machine_need_no_tls(alice: Client, uri: str) -> None:
    assert register(alice, redirect_uri=uri)["redirect_uri"] == uri


def test_clients_are_filtered_by_label_and_kind(alice: Client) -> None:
    register(alice, label="One")
    public = register(alice, label="Two", public=True)
    assert alice.get(PATH, headers={"X-Filter": '{"public": true}'}).json()["data"] == [public]
    assert alice.get(PATH, headers={"X-Filter": '{"label": {"+contains": "TW"}}'}).json()["data"] == [public]
    assert errors(alice.get(PATH, headers={"X-Filter": '{"status": "active"}'})) == [
        ("X-Filter", "Cannot filter on status")
    ]


def test_clients_of_another_account_are_not_there(alice: Client, mallory: Client) -> None:
    path = f"{PATH}/{register(alice)['id']}"
    calls = [
        mallory.get(path),
        mallory.put(path, json={"redirect_uri": "nonsense"}),
        mallory.delete(path),
        mallory.post(f"{path}/reset-secret"),
        mallory.put(f"{path}/thumbnail", content=b"", headers={"Content-Type": "text/plain"}),
    ]
    assert [call.status_code for call in calls] == [404] * len(calls)
    assert mallory.get(PATH).json()["results"] == 0
    assert alice.get(path).status_code == 200


def test_restricted_users_need_access_to_the_account(cloud: Cloud, alice: Client) -> None:
    alice.post("/v4/account/users", json={"username": "bob", "email": "bob@example.com"})
    bob = cloud.client(cloud.token("bob"))
    path = f"{PATH}/{register(alice)['id']}"
    png: dict[str, Any] = {"content": picture("PNG"), "headers": {"Content-Type": "image/png"}}

    def statuses() -> list[int]:
        reads = [bob.get(PATH), bob.get(path)]
        writes = [
            bob.post(PATH, json={"label": "x", "redirect_uri": CALLBACK}),
            bob.put(path, json={}),
            bob.put(f"{path}/thumbnail", **png),
            bob.post(f"{path}/reset-secret"),
        ]
        return [call.status_code for call in reads + writes]

    assert statuses() == [403] * 6
    grants = "/v4/account/users/bob/grants"
    alice.put(grants, json={"global": {"account_access": "read_only"}})
    assert statuses() == [200] * 2 + [403] * 4
    alice.put(grants, json={"global": {"account_access": "read_write"}})
    assert statuses() == [200] * 6


# ---- thumbnails -----------------------------------------------------------------------------------------------------


def put(owner: Client, client_id: str, content: bytes, content_type: str) -> Any:
    return owner.put(f"{PATH}/{client_id}/thumbnail", content=content, headers={"Content-Type": content_type})


def decoded(content: bytes) -> Image.Image:
    image = Image.open(BytesIO(content))
    image.load()
    return image


def test_a_thumbnail_is_seen_by_anybody(cloud: Cloud, alice: Client) -> None:
    made = register(alice)
    stranger = cloud.client(None)
    assert stranger.get(f"{PATH}/{made['id']}/thumbnail").status_code == 404
    sent = picture("PNG")
    assert put(alice, made["id"], sent, "image/png").json() == {}
    url = alice.get(f"{PATH}/{made['id']}").json()["thumbnail_url"]
    assert url == f"{cloud.url}{PATH}/{made['id']}/thumbnail"
    seen = stranger.get(url)
    assert seen.status_code == 200
    assert seen.content == sent
    assert seen.headers["content-type"] == "image/png"
    assert seen.headers["x-content-type-options"] == "nosniff"
    assert seen.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert seen.headers["cache-control"] == "public, max-age=300"
    assert "set-cookie" not in seen.headers
    assert actions(alice)[0] == "oauth_client_update"
    alice.delete(f"{PATH}/{made['id']}")
    assert stranger.get(url).status_code == 404


@pytest.mark.parametrize(("kind", "content_type"), [("JPEG", "image/jpeg"), ("GIF", "image/gif")])
def test_other_pictures_become_png(cloud: Cloud, alice: Client, kind: str, content_type: str) -> None:
    made = register(alice)
    assert put(alice, made["id"], picture(kind), content_type).status_code == 200
    seen = alice.get(f"{PATH}/{made['id']}/thumbnail")
    assert seen.headers["content-type"] == "image/png"
    assert decoded(seen.content).size == (20, 10)
    assert decoded(seen.content).format == "PNG"


def test_nothing_but_the_picture_is_kept(alice: Client) -> None:
    from PIL.PngImagePlugin import PngInfo

    made = register(alice)
    words = PngInfo()
    words.add_text("Comment", "<script>alert('canary')</script>")
    for content, kind in (
        (picture("PNG", pnginfo=words), "image/png"),
        (picture("JPEG", comment=b"canary"), "image/jpeg"),
        (picture("GIF", comment=b"canary"), "image/gif"),
    ):
        assert b"canary" in content
        assert put(alice, made["id"], content, kind).status_code == 200
        assert b"canary" not in alice.get(f"{PATH}/{made['id']}/thumbnail").content


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def bomb(width: int, height: int) -> bytes:
    """Return a picture that is small until it is decoded."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1000 * 3000), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def hidden_in_pixels() -> bytes:
    """A PNG whose pixels are followed, inside their own chunk, by something else."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0\1\2\3") + b"canary: not a pixel"
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_what_hides_among_the_pixels_is_dropped(alice: Client) -> None:
    made = register(alice)
    assert put(alice, made["id"], hidden_in_pixels(), "image/png").status_code == 200
    seen = alice.get(f"{PATH}/{made['id']}/thumbnail").content
    assert b"canary" not in seen
    assert decoded(seen).getpixel((0, 0)) == (1, 2, 3)


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "image/png"),
    "text": (b"hello", "image/png"),
    "a page": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/png"),
    "another kind than it says": (picture("GIF"), "image/png"),
    "a kind that is not taken": (picture("BMP"), "image/png"),
    "half a picture": (picture("PNG", (300, 300))[:-30], "image/png"),
    "half a JPEG": (picture("JPEG", (300, 300))[:-200], "image/jpeg"),
    "a bomb": (bomb(30_000, 30_000), "image/png"),
    "one pixel too many": (picture("PNG", (2001, 2000)), "image/png"),
    "a program behind a PNG": (picture("PNG") + b"PK\x03\x04 archive", "image/png"),
    "a page behind a JPEG": (picture("JPEG") + b"<script>", "image/jpeg"),
    "an archive behind a GIF": (picture("GIF") + b"PK\x05\x06", "image/gif"),
    "a broken checksum": (picture("PNG")[:-1] + b"\x00", "image/png"),
    "fewer pixels than it says": (bomb(1500, 1500), "image/png"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_harmless_picture_is_refused(alice: Client, what: str) -> None:
    made = register(alice)
    answer = put(alice, made["id"], *REFUSED[what])
    assert answer.status_code == 400
    assert alice.get(f"{PATH}/{made['id']}/thumbnail").status_code == 404
    assert alice.get(f"{PATH}/{made['id']}").json()["thumbnail_url"] is None


def test_other_types_and_big_files_are_not_taken(alice: Client) -> None:
    made = register(alice)
    for content_type in ("image/svg+xml", "image/webp", "application/octet-stream", "text/html"):
        answer = put(alice, made["id"], picture("PNG"), content_type)
        assert answer.status_code == 415
        assert errors(answer) == [
            (None, "Unsupported Media Type"),
            (None, "Send image/png or image/jpeg or image/gif."),
        ]
    assert alice.put(f"{PATH}/{made['id']}/thumbnail", content=picture("PNG")).status_code == 415
    assert put(alice, made["id"], picture("PNG") + bytes(512 * 1024), "image/png").status_code == 413
    assert alice.get(f"{PATH}/{made['id']}/thumbnail").status_code == 404


def test_a_picture_that_would_grow_too_big_is_shrunk(alice: Client) -> None:
    noise = Image.effect_noise((1500, 1500), 90)
    target = BytesIO()
    noise.save(target, "JPEG", quality=8)
    assert len(target.getvalue()) < 512 * 1024
    made = register(alice)
    assert put(alice, made["id"], target.getvalue(), "image/jpeg").status_code == 200
    seen = alice.get(f"{PATH}/{made['id']}/thumbnail").content
    assert len(seen) <= 512 * 1024
    assert decoded(seen).size == (512, 512)


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "RGB"])
def test_pictures_of_every_mode_keep_their_colours(alice: Client, mode: str) -> None:
    made = register(alice)
    sent = picture("PNG", mode=mode, dpi=(72, 72))
    assert put(alice, made["id"], sent, "image/png").status_code == 200
    seen = decoded(alice.get(f"{PATH}/{made['id']}/thumbnail").content)
    assert seen.convert("RGBA").getpixel((3, 3)) == decoded(sent).convert("RGBA").getpixel((3, 3))


def test_a_picture_that_takes_long_holds_up_nobody(
    alice: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    waits = f"import os, time; open({str(begun)!r}, 'w')\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    monkeypatch.setattr(image_cleaner, "COMMAND", (sys.executable, "-I", "-c", waits))
    path, answers = f"{PATH}/{register(alice)['id']}/thumbnail", []

    def upload() -> None:
        answers.append(alice.put(path, content=b"x", headers={"Content-Type": "image/png"}).status_code)

    uploading = threading.Thread(target=upload)
    uploading.start()
    while not begun.exists():
        assert uploading.is_alive()
    assert alice.post("/v4/tags", json={"label": "meanwhile"}).status_code == 200
    assert uploading.is_alive()
    gate.touch()
    uploading.join()
    assert answers == [400]
