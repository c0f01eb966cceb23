"""``crofter openapi``: the description of the interface as a file."""

from __future__ import annotations

import sys
from pathlib import Path

from crofter.edge.openapi import render
from crofter.registry import ENDPOINTS


def write(output: str | None) -> None:
    text = render(ENDPOINTS)
    if output is None:
        sys.stdout.write(text)
    else:
        Path(output).write_text(text)
