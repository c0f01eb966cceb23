"""``crofter admin rotate-key``: everything sealed anew with another master key."""

from __future__ import annotations

import sys

import crofter.registry  # noqa: F401 - every table that holds something sealed
from crofter import keyring, rotation
from crofter.bootstrap import MASTERS
from crofter.cli.opening import opened
from crofter.cli.operators import Arguments, on_servers_record
from crofter.config import Settings
from crofter.rng import Rng


def rotate(settings: Settings, arguments: Arguments) -> int:
    """With the key in a file: a new one is made, and the old one dropped when nothing needs it any more."""
    folder = settings.folder
    in_file = settings.secret_key is None and folder is not None
    if in_file:
        assert folder is not None
        # raises unless no other process uses the database and the key fits
        opened(settings, beside=False).database.close()
        keyring.add_master(folder / MASTERS, Rng())
    elif not settings.former_secret_keys:
        raise ValueError(
            "put the new key into CROFTER_SECRET_KEY and the old one into CROFTER_FORMER_SECRET_KEYS, then run this"
        )
    runtime = opened(settings, beside=False)
    try:
        done = rotation.rotate(runtime)
        on_servers_record(runtime, arguments)
    finally:
        runtime.database.close()
    for secret in done.left:
        print(f"crofter: {secret.table}.{secret.column} of {secret.key} cannot be opened with any key", file=sys.stderr)
    if in_file and not done.left:
        assert folder is not None
        keyring.drop_former_masters(folder / MASTERS)
    print(f"{done.rewrapped} sealed values are under the new key")
    if not in_file and not done.left:
        print("CROFTER_FORMER_SECRET_KEYS can be dropped")
    return 1 if done.left else 0
