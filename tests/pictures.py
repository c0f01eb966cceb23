"""Pictures to send."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from PIL import Image

RED = (200, 30, 30, 255)


def picture(kind: str = "PNG", size: tuple[int, int] = (20, 10), mode: str = "RGB", **more: Any) -> bytes:
    """Return a picture of a single colour, wider than high to detect rotation."""
    colour = 200 if mode in ("L", "P") else RED[: len(mode)]
    target = BytesIO()
    Image.new(mode, size, colour).save(target, kind, **more)
    return target.getvalue()
