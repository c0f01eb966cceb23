"""Checks of contact data: each returns the problem, or None."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

import msgspec
from msgspec import Struct

# Tax libraries are slow to import and rarely needed. The table of countries is small and read once.

_ZIP = re.compile(r"[A-Za-z0-9 -]*")
_PHONE = re.compile(r"[0-9+() ./x#-]*")
_INTERNATIONAL = re.compile(r"[() ./-]*\+")
_TAX_IDS = {"AU": "stdnum.au.abn", "GB": "stdnum.gb.vat", "IN": "stdnum.in_.gstin"}
"""Countries outside the European Union whose tax ids have a form that can be checked."""


class Countries(Struct, frozen=True):
    """The facts in ``countries.json``, which ``tools/countries.py`` writes."""

    sources: dict[str, str]
    """Sources of the data, with their licences."""
    countries: str
    """Two letters each."""
    states: dict[str, str]
    """Two-letter codes of states, by country."""
    postal_codes: dict[str, str]
    """Regular expressions by country."""
    calling_codes: str
    """Digits that may follow the plus of an international telephone number."""


@cache
def known_countries() -> Countries:
    return msgspec.json.decode(Path(__file__).with_name("countries.json").read_bytes(), type=Countries)


def check_email(value: str) -> str | None:
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415

    try:
        validate_email(value, check_deliverability=False, test_environment=True)
    except EmailNotValidError:
        return "Must be a valid email address"
    return None


def check_country(value: str) -> str | None:
    known = value == "" or value.upper() in known_countries().countries.split()
    return None if known else "country is not valid"


def check_phone(value: str) -> str | None:
    """Digits as people write them; what cannot be a number at all is refused."""
    digits = sum(character.isdigit() for character in value)
    fits = _PHONE.fullmatch(value) is not None and 5 <= digits <= 15
    return None if fits or value == "" else "Must be a valid phone number"


def check_zip(value: str) -> str | None:
    if not _ZIP.fullmatch(value) or sum(character.isalnum() for character in value) > 9:
        return "Must be at most 9 letters and digits, with spaces and hyphens"
    return None


# checks that depend on the country


def phone_complaint(phone: str, country: str) -> str | None:
    """A plus stands only in front, and a code that leads to a country or a worldwide service follows it."""
    abroad = _INTERNATIONAL.match(phone)
    rest = phone[abroad.end() :] if abroad else phone
    digits = "".join(character for character in rest if character.isdigit())
    connected = abroad is None or digits.startswith(tuple(known_countries().calling_codes.split()))
    return None if connected and "+" not in rest else "Must be a valid phone number"


def state_complaint(state: str, country: str) -> str | None:
    """In the US and Canada a state or province is named by its two letters."""
    states = known_countries().states.get(country)
    return None if states is None or state.upper() in states.split() else "state is not valid"


def tax_complaint(tax_id: str, country: str) -> str | None:
    """Where the form of tax ids is known, it must have it."""
    from stdnum.eu import vat  # noqa: PLC0415

    if country.lower() in vat.MEMBER_STATES:
        whole = tax_id if tax_id[:2].isalpha() else country + tax_id
        return None if vat.is_valid(whole) else "tax_id is not valid"
    module = _TAX_IDS.get(country)
    if module is not None and not import_module(module).is_valid(tax_id):
        return "tax_id is not valid"
    return None


def zip_complaint(zip_code: str, country: str) -> str | None:
    """A postal code of the form that the country uses."""
    form = known_countries().postal_codes.get(country)
    return None if form is None or re.fullmatch(form, zip_code.upper()) else "zip is not valid"


OF_A_COUNTRY = {"phone": phone_complaint, "state": state_complaint, "tax_id": tax_complaint, "zip": zip_complaint}
"""Checks by field that need the country. Empty values always pass."""
