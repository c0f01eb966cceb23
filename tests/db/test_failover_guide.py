"""The guide docs/guides/failover.md, played with two PostgreSQL servers of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import PostgresServer
from tests.page_player import blocks, playing

PAGE = "docs/guides/failover.md"
ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("initdb", "pg_ctl", "createdb", "pg_basebackup", "psql")


@pytest.fixture
def folder(postgres_server: PostgresServer) -> Iterator[Path]:
    """An empty folder of the system user that runs PostgreSQL, with its programs in ``programs``."""
    folder = Path(tempfile.mkdtemp(prefix="fo", dir="/tmp"))  # short: the path of a socket has few characters
    owner = pwd.getpwuid(postgres_server.data.stat().st_uid)
    (folder / "programs").mkdir()
    prefix = f"runuser -u {owner.pw_name} -- " if os.geteuid() == 0 else ""
    for name in PROGRAMS:
        program = folder / "programs" / name
        program.write_text(f'#!/bin/sh\nexec {prefix}{postgres_server.program(name)} "$@"\n')
        program.chmod(0o755)
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    folder.chmod(0o755)
    yield folder
    for data in ("one", "two"):
        stop = [str(folder / "programs" / "pg_ctl"), "-D", str(folder / data / "data"), "-m", "immediate", "stop"]
        subprocess.run(stop, capture_output=True, check=False)
    shutil.rmtree(folder)


def test_the_guide_moves_a_server_to_the_living_database(folder: Path) -> None:
    listed = blocks(PAGE, (ROOT / PAGE).read_text(encoding="utf-8"))
    played = [block for block in listed if block.reason is None]
    with playing(folder, played) as player:
        player.play(blocks("path", f'```sh\nexport PATH="{folder}/programs:$PATH"\n```\n')[0])
        for block in played:
            player.play(block)
    assert len(listed) - len(played) == 1
