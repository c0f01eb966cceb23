"""Writes docs/state-machine.md: the states of an instance, printed from the list of its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from crofter.engine.queue import ANY
from crofter.resources.instances.jobs import JOBS
from crofter.resources.instances.states import AT_REST, STATUSES, Job

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "state-machine.md"

HEAD = """\
# The states of an instance

Printed from `src/crofter/resources/instances/jobs.py` by `python -m tools.states`. Do not edit.

A job starts from one of the states that it accepts, shows another one meanwhile, and ends where the hypervisor says
that the machine is: `running`, `offline`, or `stopped` while its host is in maintenance. That is looked at, never
assumed, and it is so however the job ends: finished, failed or cancelled. After a failure the event stays open until
that look is over, so an event that says `failed` or `finished` means that the next order is accepted. While a job is
queued or under way every other one is refused with `Compute busy.`, with two exceptions: a job waits in the queue for
the kinds of work in its column `Behind`, and a deletion cancels what is going on. A step of another operation may
queue a job behind itself if the job is declared to come after that.
"""

BY_ITSELF = """\
## What happens by itself

| What | From | To |
|---|---|---|
| The host goes into maintenance | any of `running`, `offline` | `stopped` |
| The host comes back | `stopped` | what it was before |
| The guest goes off by itself, the watchdog is on | `running` | `booting`, as `lassie_reboot` |
| The guest goes off by itself, the watchdog is off or has given up | `running` | `offline` |
| A deletion fails | `deleting` | where the machine is |
| Nobody is at work on an instance that shows a passing state | any | where the machine is |
"""


def render(jobs: tuple[Job, ...] = JOBS) -> str:
    head = ["| Job | Event | From | After | Behind | Shows | Steps |", "|---|---|---|---|---|---|---|"]
    table = [*head, *(_row(job) for job in jobs)]
    return "\n".join([HEAD, *_diagram(jobs), "", "## Jobs", "", *table, "", BY_ITSELF])


def _row(job: Job) -> str:
    steps = " → ".join(step.name for step in job.operation.steps)
    shows = ", ".join(f"`{status}`" for status in _shown(job)) or "what it is"
    after = ", ".join(f"`{kind}`" for kind in job.after)
    behind = "anything" if ANY in job.behind else ", ".join(f"`{kind}`" for kind in job.behind)
    return f"| `{job.operation.kind}` | `{job.action}` | {_from(job)} | {after} | {behind} | {shows} | {steps} |"


def _from(job: Job) -> str:
    if job.creates:
        return "new"
    return "any" if job.accepts == STATUSES else ", ".join(f"`{status}`" for status in job.accepts)


def _shown(job: Job) -> list[str]:
    at_once = job.during.values() if isinstance(job.during, Mapping) else [job.during] if job.during else []
    return list(dict.fromkeys([*at_once, *job.later]))


def _diagram(jobs: tuple[Job, ...]) -> list[str]:
    """Moves between states; jobs that leave the state alone are in the table only."""
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += ["    state at_rest {", *(f"        {status}" for status in AT_REST), "    }"]
    moves: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        shown = _shown(job)
        if not shown:
            continue
        for start, first in _starts(job, shown):
            moves.setdefault((start, first), []).append(job.action)
        for before, after in pairwise(shown):
            moves.setdefault((before, after), []).append(job.action)
        moves.setdefault((shown[-1], "[*]" if shown[-1] == "deleting" else "at_rest"), [])
    moves.setdefault(("provisioning", "at_rest"), [])
    moves[("at_rest", "stopped")] = ["host in maintenance"]
    moves[("stopped", "at_rest")] = ["host is back"]
    for (start, end), actions in moves.items():
        words = ", ".join(dict.fromkeys(actions))
        lines.append(f"    {start} --> {end}{': ' + words if words else ''}")
    return [*lines, "```"]


def _starts(job: Job, shown: list[str]) -> list[tuple[str, str]]:
    if job.creates:
        return [("[*]", shown[0])]
    if job.accepts == STATUSES:
        return [("at_rest", shown[0]), ("stopped", shown[0])]
    if isinstance(job.during, Mapping):
        return list(job.during.items())
    return [(status, shown[0]) for status in (("at_rest",) if job.accepts == AT_REST else job.accepts)]


def main() -> None:
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
