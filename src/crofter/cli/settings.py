"""``crofter config show``: the settings in force, and where each of them came from."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import msgspec

from crofter.config import Settings, SettingsError, complaints, gather, load

SECRETS = ("secret_key", "former_secret_keys", "bootstrap_token", "sandbox_key")
MASK = "********"
_PASSWORD = re.compile(r"(?<=://)([^:/@]*:).*(?=@)|(?<=[?&])(password=)[^&]*")


def show(flags: dict[str, Any], *, origin: bool, json: bool) -> int:
    """Print them; what is wrong with them goes to standard error, and then the exit code is 1."""
    for line in complaints(os.environ):
        print(f"crofter: {line}", file=sys.stderr)
    try:
        gathered = gather(flags, os.environ)
        values = gathered.values | {"rate_limits": gathered.rates}
    except SettingsError as error:
        print(f"crofter: {error}", file=sys.stderr)
        return 1
    code = 0
    try:
        values = msgspec.structs.asdict(load(flags, os.environ))
    except SettingsError as error:
        print(f"crofter: {error}", file=sys.stderr)
        code = 1
    rows = [
        {"setting": name, "value": _masked(name, value)}
        | ({"origin": gathered.origins.get(name, "default")} if origin else {})
        for name, value in _listed(values).items()
    ]
    _print(rows, json=json)
    return code


def _listed(values: dict[str, Any]) -> dict[str, Any]:
    """Every setting, each rate limit in a line of its own."""
    listed = {name: values.get(name, _default(name)) for name in Settings.__struct_fields__ if name != "rate_limits"}
    return listed | {f"rate_limit_{name}": limit for name, limit in values["rate_limits"].items()}


def _default(name: str) -> Any:
    return getattr(Settings(), name)


def _masked(name: str, value: Any) -> Any:
    if name in SECRETS and value:
        return MASK
    return _PASSWORD.sub(rf"\1\2{MASK}", value) if isinstance(value, str) else value


def _print(rows: list[dict[str, Any]], *, json: bool) -> None:
    if json:
        print(msgspec.json.format(msgspec.json.encode(rows)).decode())
        return
    widths = {name: max(len(_text(row[name])) for row in rows) for name in rows[0]}
    for row in rows:
        print("  ".join(_text(value).ljust(widths[name]) for name, value in row.items()).rstrip())


def _text(value: Any) -> str:
    return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
