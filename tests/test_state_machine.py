"""The list of jobs is the state machine: it is whole, and its picture is up to date."""

from __future__ import annotations

from collections.abc import Mapping

from tools import states

from crofter import operations
from crofter.resources.instances import store
from crofter.resources.instances.jobs import JOBS, OPERATIONS
from crofter.resources.instances.looking import look
from crofter.resources.instances.states import AT_REST, STATUSES

PASSING = set(STATUSES) - {"running", "offline", "stopped"}


def test_the_picture_is_up_to_date() -> None:
    assert states.FILE.read_text(encoding="utf-8") == states.render(), "run: python -m tools.states"


def test_every_passing_state_is_shown_by_a_job() -> None:
    shown = {status for job in JOBS for status in (*(job.shows(start) for start in STATUSES), *job.later) if status}
    assert shown == PASSING


def test_the_index_and_the_states_agree_on_what_is_passing() -> None:
    resting = ("running", "offline", "stopped")
    assert " AND ".join(f"status <> '{status}'" for status in resting) == store.MOVING
    assert set(AT_REST) == {"running", "offline"}


def test_a_job_that_shows_a_passing_state_looks_where_it_ended_up_even_if_it_fails() -> None:
    for job in JOBS:
        if job.during is None and not job.later:
            continue
        assert job.operation.failed is not None, job.action
        ends = {"compute_create": "hand_over", "compute_delete": "forget"}.get(job.action, look.name)
        assert job.operation.steps[-1].name == ends, job.action


def test_a_job_comes_only_after_operations_that_there_are() -> None:
    assert {kind for job in JOBS for kind in job.after} <= {operation.kind for operation in operations.OPERATIONS}


def test_a_job_starts_from_a_state_or_with_a_new_instance() -> None:
    assert [job.action for job in JOBS if job.creates == bool(job.accepts)] == []
    assert [job.action for job in JOBS if job.creates] == ["compute_create"]


def test_a_job_shows_something_only_from_states_that_it_accepts() -> None:
    for job in JOBS:
        assert not isinstance(job.during, Mapping) or set(job.during) <= set(job.accepts), job.action


def test_every_operation_of_a_job_is_listed() -> None:
    assert {job.operation.kind for job in JOBS} <= {operation.kind for operation in OPERATIONS}
