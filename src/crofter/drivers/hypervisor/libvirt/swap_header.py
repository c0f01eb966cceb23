"""An empty swap area: its first page is all there is to it."""

from __future__ import annotations

import struct
import uuid

PAGE = 4096


def swap_header(size: int) -> bytes:
    """The first page of a swap area: version, last page, no bad ones, an identity, and the mark at the end."""
    head = bytes(1024) + struct.pack("<III", 1, size // PAGE - 1, 0) + uuid.uuid4().bytes
    return head.ljust(PAGE - 10, b"\0") + b"SWAPSPACE2"
