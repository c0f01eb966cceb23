"""Growth as a picture: SVG, written by hand, since it takes a few lines and no library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 860, 420
LEFT, TOP, RIGHT, BOTTOM = 70, 30, 330, 50
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22")
Series = Mapping[str, Sequence[tuple[int, float]]]
"""Microseconds by number of rows, for each name."""


def draw(title: str, series: Series) -> str:
    """Lines on logarithmic scales: what is flat stays flat, what grows with the rows rises."""
    sizes = sorted({rows for points in series.values() for rows, _cost in points})
    costs = [cost for points in series.values() for _rows, cost in points]
    low, high = _decade(min(costs), up=False), _decade(max(costs), up=True)

    def place(rows: int, cost: float) -> tuple[float, float]:
        across = (log10(rows) - log10(sizes[0])) / max(1e-9, log10(sizes[-1]) - log10(sizes[0]))
        upward = (log10(cost) - log10(low)) / max(1e-9, log10(high) - log10(low))
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - upward * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="14">{escape(title)}</text>',
        *_grid(sizes, low, high, place),
    ]
    for number, (name, points) in enumerate(series.items()):
        parts += _line(name, number, [place(rows, cost) for rows, cost in points])
    return "\n".join([*parts, "</svg>", ""])


def _decade(value: float, *, up: bool) -> float:
    power = int(log10(value) // 1)
    return float(10 ** (power + 1 if up else power))


def _grid(sizes: Sequence[int], low: float, high: float, place: object) -> list[str]:
    assert callable(place)
    lines = []
    cost = low
    while cost <= high:
        _across, down = place(sizes[0], cost)
        lines.append(f'<path d="M{LEFT} {down:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{down + 4:.1f}" text-anchor="end">{_time(cost)}</text>')
        cost *= 10
    for size in sizes:
        across, _down = place(size, low)
        lines.append(f'<text x="{across:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{size:,}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(f'<text x="{middle:.0f}" y="{HEIGHT - 10}" text-anchor="middle">rows of one account</text>')
    return lines


def _time(microseconds: float) -> str:
    if microseconds < 1000:
        return f"{microseconds:g} us"
    return f"{microseconds / 1000:g} ms" if microseconds < 1_000_000 else f"{microseconds / 1_000_000:g} s"


def _line(name: str, number: int, points: Sequence[tuple[float, float]]) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    dashes = ' stroke-dasharray="5 3"' if number >= len(COLOURS) else ""
    path = " ".join(f"{across:.1f},{down:.1f}" for across, down in points)
    legend = TOP + 14 * number
    left = WIDTH - RIGHT + 20
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>',
        f'<path d="M{left} {legend}h18" stroke="{colour}" stroke-width="2"{dashes}/>',
        f'<text x="{left + 24}" y="{legend + 4}">{escape(name)}</text>',
    ]
