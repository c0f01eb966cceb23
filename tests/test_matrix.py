"""Permissions of every kind of caller on every endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from crofter.edge import perform
from crofter.registry import ENDPOINTS
from crofter.resources.tags import store as tags
from crofter.resources.users import access
from crofter.resources.users import store as users
from tests.cloud import Cloud
from tests.matrix import CALLERS, HERE, Matrix, cells, declared, promised


def test_every_endpoint_has_its_reviewed_row_and_no_row_is_left_over() -> None:
    assert {declared(endpoint) for endpoint in ENDPOINTS} == set(promised())


def test_scopes_are_those_of_the_interface() -> None:
    wanted = [line.split("\t")[:3] for line in (HERE / "interface.tsv").read_text().splitlines()[1:]]
    known = {(row.method, _bare(row.path)): row.scope for row in promised()}
    assert len(wanted) == 99
    assert {(method, path): scope for method, path, scope in wanted} == {
        (method, path): known[(method, _bare(path))] for method, path, _ in wanted
    }


def _bare(path: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def holes(matrix: Matrix) -> list[tuple[str, str, str, str]]:
    return [
        (row.method, row.path, caller, f"{result}, not {' or '.join(sorted(wanted))}")
        for row, caller, result, wanted in cells(matrix)
        if result not in wanted
    ]


def test_everybody_gets_where_they_belong_and_nowhere_else(cloud: Cloud) -> None:
    matrix = Matrix(cloud)
    counted = sum(1 for _ in ENDPOINTS) * len(CALLERS)
    assert counted > 1700
    assert holes(matrix) == []


def _endpoint(name: str) -> Any:
    return next(endpoint for endpoint in ENDPOINTS if endpoint.name == name)


def _no_scope(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_endpoint("delete_tag"), "scope", "*")


def _no_grant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_endpoint("list_users"), "grant", "any")


def _forgotten_account(patch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = lambda ctx, label: tags.Tag(1, ctx.account_id, label)  # noqa: E731
    for name in ("list_tagged_objects", "delete_tag"):
        patch.setattr(_endpoint(name).lookups["tag"], "find", find)


def _reads_may_write(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(perform, "covers", lambda held, _wanted: bool(held))


def _everybody_permitted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(users, "level", lambda *_: "read_write")
    assert callable(access.permits)


LABEL = "/v4/tags/{label}"
PLANTED: dict[Callable[[pytest.MonkeyPatch], None], set[tuple[str, str, str]]] = {
    _no_scope: {("DELETE", LABEL, "wrong scope"), ("DELETE", LABEL, "read_only scope")},
    _no_grant: {("GET", "/v4/account/users", caller) for caller in CALLERS if caller.startswith("restricted")},
    _forgotten_account: {("GET", LABEL, "other tenant"), ("DELETE", LABEL, "other tenant")},
}
"""A hole in one endpoint, and where it is to be found: there and nowhere else."""
THROUGHOUT: dict[Callable[[pytest.MonkeyPatch], None], set[str]] = {
    _reads_may_write: {"wrong scope", "read_only scope"},
    _everybody_permitted: {"restricted, no grant", "restricted, read_only"},
}
"""A hole in a rule, and the callers whom it lets in at many endpoints."""


def found_with(
    planted: Iterable[Callable[[pytest.MonkeyPatch], None]], request: pytest.FixtureRequest, patch: pytest.MonkeyPatch
) -> list[tuple[str, str, str, str]]:
    cloud: Cloud = request.getfixturevalue("_sqlite_cloud")
    cloud.reset()
    matrix = Matrix(cloud)
    for hole in planted:
        hole(patch)
    seen = holes(matrix)
    assert all(mismatch.startswith("in, not ") for *_, mismatch in seen)
    return seen


def test_planted_holes_are_found_where_they_are(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = found_with(PLANTED, request, monkeypatch)
    assert {hole[:3] for hole in seen} == set().union(*PLANTED.values())


@pytest.mark.soak  # the harness is proved in every run by another test
def test_a_rule_with_a_hole_is_found_at_every_endpoint_that_keeps_it(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = found_with(THROUGHOUT, request, monkeypatch)
    assert {caller for _, _, caller, _ in seen} == set().union(*THROUGHOUT.values())
    for callers in THROUGHOUT.values():
        assert len({(method, path) for method, path, caller, _ in seen if caller in callers}) > 40
