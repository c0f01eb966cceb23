"""Money: integer micro-dollars where it is kept and reckoned with, numbers in dollars where it is shown."""

from __future__ import annotations

from decimal import Decimal

DOLLAR = 1_000_000
CENT = 10_000
"""Micro-dollars, both."""
MOST = Decimal(2**53 // DOLLAR)
"""In dollars. Beyond that a JSON number is no longer exact."""


def micros(dollars: Decimal) -> int:
    """Parse an amount into micro-dollars; raise ValueError unless it is a whole number of them, 0 or more."""
    if not dollars.is_finite() or not 0 <= dollars <= MOST:
        raise ValueError(f"{dollars} is not an amount of money")
    amount = dollars * DOLLAR
    if amount != amount.to_integral_value():
        raise ValueError(f"{dollars} has more than six digits after the point")
    return int(amount)


def to_the_cent(micros: int, separator: str = "") -> str:
    """An amount as people write it, to the cent; ``separator`` stands between thousands."""
    return f"{Decimal(micros) / DOLLAR:,.2f}".replace(",", separator)


def dollars(micros: int) -> float:
    """An amount as JSON shows it: 0.0075, and 5 rather than 5.0."""
    whole, rest = divmod(micros, DOLLAR)
    return micros / DOLLAR if rest else whole


def whole_cents(micros: int) -> int:
    """Rounded half up to cents, which is done once: on the line of an invoice."""
    return (micros + CENT // 2) // CENT * CENT
