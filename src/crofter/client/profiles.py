"""Selection of server and user: flags, environment, settings file, and the stored login."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crofter.client.exits import USAGE, Stop

HERE = "http://127.0.0.1:8420"


@dataclass
class Place:
    """A cloud, and what is needed to speak to it."""

    url: str
    token: str | None = None
    ca: str | None = None
    output: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    kept: bool = False
    """True if ``crofter login`` stored the token, which can then be renewed."""


def place(url: str | None = None, profile: str | None = None, ca: str | None = None) -> Place:
    settings = _settings()
    name = profile or os.environ.get("CROFTER_PROFILE") or settings.get("profile")
    chosen = _profile(settings, name)
    own_url = str(chosen.get("url", HERE)).rstrip("/")
    address = (url or os.environ.get("CROFTER_URL") or own_url).rstrip("/")
    made = Place(
        address,
        ca=ca or os.environ.get("CROFTER_CA") or chosen.get("ca"),
        output=chosen.get("output"),
        columns=settings.get("columns", {}),
    )
    # The token of a profile is for the server of that profile: another one must not get to see it.
    token = os.environ.get("CROFTER_TOKEN") or (chosen.get("token") if address == own_url else None)
    if token is not None:
        made.token = str(token)
    elif address in (kept := credentials()):
        made.token, made.kept = kept[address]["access_token"], True
    return made


def names() -> list[str]:
    return sorted(_settings().get("profiles", {}))


def _profile(settings: dict[str, Any], name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    profile = settings.get("profiles", {}).get(name)
    if not isinstance(profile, dict):
        raise Stop(USAGE, f"there is no profile {name!r} in {folder() / 'config.toml'}")
    return profile


def folder() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "crofter"


def _settings() -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - most people have no such file

    path = folder() / "config.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Stop(USAGE, f"{path}: {error}") from error


# fields that the login stores


def credentials() -> dict[str, Any]:
    path = folder() / "credentials.json"
    try:
        kept: dict[str, Any] = json.loads(path.read_text())
        return kept
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Stop(USAGE, f"{path}: {error}") from error


def keep(server: str, token: dict[str, Any] | None) -> None:
    """Tokens by the address of their server, in a file that only its owner reads."""
    kept = credentials()
    kept.pop(server, None)
    if token is not None:
        kept[server] = token
    path = folder() / "credentials.json"
    try:
        _write(path, json.dumps(kept, indent=2) + "\n")
    except OSError as error:
        raise Stop(USAGE, f"{path}: {error.strerror}") from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    written = path.with_suffix(".new")
    written.unlink(missing_ok=True)
    written.touch(mode=0o600)
    written.write_text(text)
    written.replace(path)
