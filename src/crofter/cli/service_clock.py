"""``crofter admin clock``: what service time does when the machine's clock was set."""

from __future__ import annotations

from collections.abc import Callable

from crofter import clock
from crofter.cli.operators import Arguments, Rows
from crofter.context import Runtime
from crofter.engine import timekeeping


def _show(runtime: Runtime, _arguments: Arguments) -> Rows:
    with runtime.database.read() as db:
        machine = timekeeping.machine(db)
    ahead, behind = runtime.clock.ahead(), runtime.clock.behind()
    state = "stands still" if ahead or runtime.clock.setting.mode == "frozen" else "runs"
    times = {"service_time": clock.text(runtime.clock.now()), "machine": clock.text(machine)}
    return [{"state": state, **times, "ahead_seconds": round(ahead), "behind_seconds": round(behind)}]


def _accept(runtime: Runtime, arguments: Arguments) -> Rows:
    ahead = timekeeping.accept(runtime)
    return [{"accepted_seconds": round(ahead), **_show(runtime, arguments)[0]}]


LOOKING: dict[str, Callable[[Runtime, Arguments], Rows]] = {"clock show": _show, "clock accept": _accept}
