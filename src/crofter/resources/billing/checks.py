"""Whether a card can be what it says."""

from __future__ import annotations


def check_number(number: str) -> str | None:
    """The last digit of a card number is made from the others."""
    from stdnum import luhn  # noqa: PLC0415 - slow to import

    return None if luhn.is_valid(number) else "Invalid credit card number"
