"""Figures beside their targets, for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Verdict(NamedTuple):
    """A measured value, with the maximum that the target allows."""

    value: float
    target: float | None
    unit: str = "x"

    def within(self, slack: float = 1.0) -> bool:
        """True if the value is at most its target, or that multiple of its target."""
        return self.target is None or self.value <= self.target * slack

    def cells(self) -> list[str]:
        if self.target is None:
            return [self._text(self.value), "", ""]
        return [self._text(self.value), f"<= {self._text(self.target)}", "ok" if self.within() else "OVER"]

    def _text(self, value: float) -> str:
        return f"{value:.0f} {self.unit}" if self.unit == "MB" else f"{value:.2f}{self.unit}"


def render(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[place]) for row in [columns, *rows]) for place in range(len(columns))]
    lines = [title, _line(columns, widths), "  ".join("-" * width for width in widths)]
    return "\n".join([*lines, *(_line(row, widths) for row in rows), ""])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.ljust(width) if place == 0 else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()
