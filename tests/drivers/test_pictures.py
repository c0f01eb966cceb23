"""Pictures from strangers: what becomes of them, and of the process that looks at them."""

from __future__ import annotations

import subprocess
import sys
import threading
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from crofter.drivers.pictures import Crowded, Unfit, cleaned, decodes, image_cleaner
from tests.pictures import picture
from tests.resources.followers import eventually

LIMITS: dict[str, Any] = {"most_pixels": 1_000_000, "most_bytes": 512 * 1024}
TAKEN_OVER = "from crofter.drivers.pictures import process; import os, socket, threading; {first}\n"
TAKEN_OVER += "print('begun', flush=True); {code}; print('done')"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF"])
def test_a_picture_becomes_a_png(kind: Any) -> None:
    made = cleaned(picture(kind), kind, **LIMITS)
    with Image.open(BytesIO(made)) as opened:
        assert (opened.format, opened.size) == ("PNG", (20, 10))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "TIFF"])
def test_whether_it_is_one_is_told(kind: Any) -> None:
    assert decodes(picture(kind), kind, most_pixels=200)
    assert not decodes(picture(kind), kind, most_pixels=199)
    assert not decodes(picture(kind)[:-30], kind, most_pixels=200)
    assert not decodes(b"", kind, most_pixels=200)


def test_several_pictures_in_one_file_are_what_cameras_make() -> None:
    target = BytesIO()
    pages = [Image.new("RGB", (8, 8), colour) for colour in ("teal", "red")]
    pages[0].save(target, "MPO", save_all=True, append_images=pages[1:])
    assert decodes(target.getvalue(), "JPEG", most_pixels=64)


def taken_over(code: str, *, confined: bool) -> subprocess.CompletedProcess[str]:
    code = TAKEN_OVER.format(first="process.confine()" if confined else "pass", code=code)
    return subprocess.run([sys.executable, "-c", code], env={}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("code", "complaint", "tried_unconfined"),
    [
        ("open('/etc/passwd')", "Too many open files: '/etc/passwd'", True),
        ("socket.socket()", "Too many open files", True),
        ("os.fork() or os._exit(0)", "BlockingIOError", True),
        ("threading.Thread(target=int).start()", "can't start new thread", True),
        ("bytearray(2 << 30)", "MemoryError", False),  # the machine may have less memory
    ],
)
def test_who_takes_over_the_decoder_has_nothing(code: str, complaint: str, tried_unconfined: bool) -> None:
    ended = taken_over(code, confined=True)
    assert (ended.stdout.split(), ended.returncode) == (["begun"], 1)
    assert complaint in ended.stderr
    if tried_unconfined:
        free = taken_over(code, confined=False)
        assert (free.stdout.split(), free.returncode) == (["begun", "done"], 0), free.stderr


def test_the_decoder_is_left_what_it_needs() -> None:
    ended = taken_over("bytearray(1 << 20)", confined=True)
    assert (ended.stdout.split(), ended.returncode) == (["begun", "done"], 0), ended.stderr


def test_it_is_told_nothing_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROFTER_SECRET_KEY", "a secret")
    program = "import os, sys; words = repr(dict(os.environ)).encode(); sys.stdin.buffer.read();"
    program += "import struct; sys.stdout.buffer.write(b'-' + struct.pack('>I', len(words)) + words)"
    monkeypatch.setattr(image_cleaner, "COMMAND", (sys.executable, "-I", "-c", program))
    with pytest.raises(Unfit) as refusal:
        cleaned(picture(), "PNG", **LIMITS)
    assert "secret" not in str(refusal.value)
    assert "CROFTER" not in str(refusal.value)


@pytest.mark.parametrize(
    "answer",
    [
        "b''",
        "b'+'",
        "b'+' + (9).to_bytes(4, 'big') + b'short'",
        "b'+' + (6).to_bytes(4, 'big') + b'<html>'",
        "b'x' * (1 << 24)",
    ],
)
def test_what_comes_back_is_a_picture_or_nothing(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    lies = f"import sys; sys.stdin.buffer.read(); sys.stdout.buffer.write({answer})"
    monkeypatch.setattr(image_cleaner, "COMMAND", (sys.executable, "-I", "-c", lies))
    with pytest.raises(Unfit, match="The image cannot be decoded"):
        cleaned(picture(), "PNG", **LIMITS)


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_cleaner, "COMMAND", (sys.executable, "-I", "-c", "import time; time.sleep(3600)"))
    monkeypatch.setattr(image_cleaner, "MAX_SECONDS", 0.1)
    with pytest.raises(Unfit):
        cleaned(picture(), "PNG", **LIMITS)


def test_a_crowd_is_sent_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waits = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    monkeypatch.setattr(image_cleaner, "COMMAND", (sys.executable, "-I", "-c", waits))
    outcomes: list[bool] = []
    places = image_cleaner.AT_ONCE + image_cleaner.WAITING
    crowd = [
        threading.Thread(target=lambda: outcomes.append(decodes(b"", "PNG", most_pixels=1))) for _ in range(places)
    ]
    for thread in crowd:
        thread.start()
    eventually(lambda: not image_cleaner._queue._value)
    with pytest.raises(Crowded):
        decodes(b"", "PNG", most_pixels=1)
    gate.touch()
    for thread in crowd:
        thread.join()
    assert outcomes == [False] * places
