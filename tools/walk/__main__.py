"""Walk docs/operating.md on a PostgreSQL of one's own: ``python -m tools.walk [--postgresql FOLDER] [--long]``."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tools.walk import places, proxies
from tools.walk.alarms import Alarms, SlowMailServer
from tools.walk.steps import Walk, shown_commands


def walk(folder: Path, database: str, *, long: bool, proxy: str | None) -> list[str]:
    """Everything, step by step; the alarms that were seen. ``long``: also what takes a minute or more. ``proxy``: the
    program of the one in front.
    """
    began = time.monotonic()
    steps = Walk(folder, database, mail=SlowMailServer().address if long else "outbox")
    try:
        steps.settings()
        steps.first_start()
        steps.start()
        steps.proxy(proxy)
        steps.use()
        steps.watch()
        steps.signals()
        steps.restart()
        prometheus = shutil.which("prometheus") if long else None
        if prometheus is None:
            steps.say(f"no Prometheus {'is here' if long else 'in the short form'}: alarms are seen in the metrics")
        alarms = Alarms(steps, prometheus)
        if long:
            steps.keep()
        steps.lose_processes()
        alarms.raise_all(hung=long)
        steps.stop()
        if long:
            steps.after()
            left = shown_commands() - steps.done - {"admin move"}
            assert not left, f"the page shows commands that were not given: {left}"
        print(f"walked in {time.monotonic() - began:.0f} s; alarms: {', '.join(alarms.seen)}")
        return alarms.seen
    except BaseException:
        for log in sorted(folder.glob("*.log")):
            print(f"---- {log.name}\n{log.read_text()[-3000:]}")
        raise
    finally:
        steps.close()


@contextmanager
def _bundled() -> Iterator[str]:
    """The PostgreSQL that comes with the tests."""
    from tests.databases import PostgresServer  # noqa: PLC0415 - only for developers

    server = PostgresServer()
    try:
        yield server.address(server.empty())
    finally:
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.walk", description=__doc__)
    parser.add_argument("--postgresql", type=Path, metavar="FOLDER", help="its programs; not the one of the tests")
    parser.add_argument("--proxy", choices=[*proxies.PROXIES, "none"], help="in front; the first that is installed")
    parser.add_argument("--long", action="store_true", help="with what takes a minute and more")
    asked = parser.parse_args()
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="walk")))
        database = exits.enter_context(places.postgresql(asked.postgresql) if asked.postgresql else _bundled())
        program = None if asked.proxy == "none" else proxies.installed(*filter(None, [asked.proxy]))
        if asked.proxy in proxies.PROXIES and program is None:
            parser.error(f"there is no {asked.proxy}")
        walk(folder, database, long=asked.long, proxy=program)


if __name__ == "__main__":
    main()
