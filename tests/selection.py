"""Selection of tests: a quick part for commits, nearly all before a change lands, everything in a soak."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest

SCOPES = ("quick", "test", "soak")
BOTH_DATABASES = (
    "tests/db/",
    "tests/drivers/test_capacity_races.py",
    "tests/drivers/test_simulated_crash.py",
    "tests/e2e/",
    "tests/edge/",
    "tests/engine/",
    "tests/resources/test_event_stream.py",
    "tests/resources/test_event_waiting.py",
    "tests/resources/test_firewall_rules.py::test_a_worker_that_dies_loses_no_rules",
    "tests/resources/test_instance_races.py",
    "tests/resources/test_managed_crashes.py",
    "tests/resources/test_many_grants.py",
    "tests/resources/test_money_crashes.py",
    "tests/resources/test_money_races.py",
    "tests/resources/test_volume_attaching.py::test_an_instance_is_deleted_while",
    "tests/resources/test_volume_attaching.py::test_of_",
    "tests/resources/test_networking_races.py",
    "tests/resources/test_nodebalancer_races.py",
    "tests/test_matrix.py",
    "tests/test_operations.py",
)
"""Where the database itself matters: every test there runs on both. Elsewhere those that are marked ``both`` do, one in
each file at least, with the first of their cases; on PostgreSQL the others wait for a soak."""
_A_FORM = "forms like those of instances, firewalls, users and tickets; tests/console/test_every_page.py opens it"
NOT_QUICK = {
    "tests/client/test_life.py": "processes of their own",
    "tests/clients/": "clients are generated and compiled",
    "tests/console/": "a browser, and the console is built",
    "tests/db/test_faults.py": "servers are stopped and started",
    "tests/db/test_known_statements.py": "processes of their own",
    "tests/db/test_migrations.py": "whole schemas are compared",
    "tests/db/test_released_databases.py": "whole schemas are compared",
    "tests/db/test_silence.py": "a database that stands still",
    "tests/drivers/test_dns.py::test_a_real_name_server": "processes of their own",
    "tests/drivers/test_fake_libvirt.py": "the whole contract once more",
    "tests/drivers/test_libvirt.py": "processes of their own",
    "tests/drivers/test_libvirt_interruptions.py": "every verb, at every moment",
    "tests/drivers/test_libvirt_operations.py": "clouds of their own",
    "tests/drivers/test_pictures.py": "processes of their own",
    "tests/drivers/test_probe_process.py": "processes of their own",
    "tests/drivers/test_real_filters.py": "real hosts",
    "tests/drivers/test_real_machines.py": "real machines",
    "tests/drivers/test_real_vlans.py": "real hosts",
    "tests/drivers/test_simulated_crash.py": "processes that are killed",
    "tests/e2e/": "processes that are killed",
    "tests/edge/test_bodies.py::test_the_quick_way_to_read_a_body_says_what_the_close_one_says": "thousands of bodies",
    "tests/edge/test_overload.py": "waiting for those who are slow",
    "tests/edge/test_sockets.py::test_a_client_that_does_not_read": "waiting for those who are slow",
    "tests/edge/test_unread.py": "waiting for those who are slow",
    "tests/engine/test_storms.py": "storms",
    "tests/login/test_command_line.py": "processes of their own",
    "tests/login/test_pages.py": "a browser",
    "tests/resources/test_billing_hour_sums.py::test_at_each_moment": "every moment of an hour",
    "tests/resources/test_billing_sums.py::test_any_history": "hundreds of histories",
    "tests/resources/test_billing_traffic.py": "months of traffic",
    "tests/resources/test_domain_import.py": "waiting for those who are slow",
    "tests/resources/test_instance_delete.py": "a deletion at every moment of every job",
    "tests/resources/test_instance_races.py": "races",
    "tests/resources/test_instance_walks.py": "long walks",
    "tests/resources/test_managed_crashes.py": "processes that are killed",
    "tests/resources/test_money_crashes.py": "a crash at every step",
    "tests/resources/test_money_races.py": "races",
    "tests/resources/test_networking_races.py": "races",
    "tests/resources/test_nodebalancer_races.py": "races",
    "tests/resources/test_support_attachments.py::test_a_browser_saves": "a browser",
    "tests/resources/test_support_attachments.py::test_a_hostile_file_is_refused": "bombs that are unpacked",
    "tests/resources/test_volume_attaching.py": "races",
    "tests/test_any_body.py": "hundreds of bodies",
    "tests/test_bench.py": "processes of their own",
    "tests/test_canaries.py": "processes of their own",
    "tests/test_catalogue.py::test_a_server_does_not_start": "processes of their own",
    "tests/test_docs_page.py": "a browser",
    "tests/test_first_login.py": "processes of their own",
    "tests/test_image_import.py": "images that are made and read",
    "tests/test_install.py": "packages are built",
    "tests/test_job_costs.py": "large accounts",
    "tests/test_killed_processes.py": "processes that are killed",
    "tests/test_matrix.py": "every caller at every endpoint",
    "tests/test_network_faults.py": "processes of their own",
    "tests/test_nobody_waits.py": "large accounts",
    "tests/test_operations.py": "every step of every job",
    "tests/test_operator_records.py": "every command of an operator",
    "tests/test_page_blocks.py": "processes of their own",
    "tests/test_pages.py": "copies of the tree, with tests of their own",
    "tests/test_pytest_plugin.py": "processes of their own",
    "tests/test_recorder.py": "whole runs of a few tests",
    "tests/test_reloading.py": "processes of their own",
    "tests/test_retention.py": "months of operations",
    "tests/test_sandbox_access.py": "processes of their own",
    "tests/test_sandbox_seed.py": "processes of their own",
    "tests/test_sandbox_snapshots.py": "clouds of their own",
    "tests/test_schemathesis.py": "every operation, several times",
    "tests/test_serving.py": "processes of their own",
    "tests/test_split_roles.py": "processes of their own",
    "tests/test_staff.py": "every command of the staff",
    "tests/test_start_costs.py": "processes of their own",
    "tests/test_two_processes.py": "processes of their own",
    "tests/test_walk.py": "processes of their own",
    "tests/test_whole_list.py::test_generated_files_that_are_missing": "all of them are written",
    "tests/test_year.py": "months of billing",
}
"""Tests outside the quick part, with the reason. Tests on PostgreSQL are outside too."""
LONG = {
    "tests/console/test_account.py": _A_FORM,
    "tests/console/test_billing.py::test_cards_payments_and_promotions": _A_FORM,
    "tests/console/test_domains.py": _A_FORM,
    "tests/console/test_events.py": "live events, as in tests/console/test_live.py",
    "tests/console/test_home.py": "what pages tell of, as each of them does",
    "tests/console/test_images.py": _A_FORM,
    "tests/console/test_instances.py::test_a_price_that_was_not_to_be_had_is_asked_for_again": _A_FORM,
    "tests/console/test_instances.py::test_a_snapshot_is_taken_and_a_backup_restored": _A_FORM,
    "tests/console/test_instances.py::test_addresses_are_named_added_and_removed": _A_FORM,
    "tests/console/test_instances.py::test_backups_are_turned_on_and_off": _A_FORM,
    "tests/console/test_instances.py::test_disks_and_configurations_are_added_changed_and_booted": _A_FORM,
    "tests/console/test_instances.py::test_settings_and_operations_say_what_is_lost_and_what_it_costs": _A_FORM,
    "tests/console/test_instances.py::test_the_overview_and_the_graphs_of_an_instance": _A_FORM,
    "tests/console/test_live.py::test_nothing_typed_is_lost_when_the_session_ends": "sessions, as in test_session.py",
    "tests/console/test_live.py::test_what_one_browser_does_the_other_sees": "one stream, as between tabs",
    "tests/console/test_longview.py": _A_FORM,
    "tests/console/test_managed.py": _A_FORM,
    "tests/console/test_networking.py": _A_FORM,
    "tests/console/test_nodebalancers.py": _A_FORM,
    "tests/console/test_profile.py::test_a_key_is_refused": _A_FORM,
    "tests/console/test_profile.py::test_colours_that_were_chosen": _A_FORM,
    "tests/console/test_profile.py::test_facts_and_preferences_are_saved": _A_FORM,
    "tests/console/test_sandbox.py": _A_FORM,
    "tests/console/test_serial_console.py": "a web socket, as in tests/resources/test_serial_console.py",
    "tests/console/test_stackscripts.py": _A_FORM,
    "tests/console/test_tags.py": _A_FORM,
    "tests/console/test_volumes.py": _A_FORM,
    "tests/test_bench.py::test_a_figure_over_its_target_makes_a_run_fail": "the others judge figures, too",
    "tests/test_schemathesis.py::test_nothing_is_found_by_a_few_requests": "tests/test_any_body.py makes some up, too",
    "tests/test_year.py::test_a_defect_is_found_in_the_same_history": "the history itself, without defects",
    "tests/test_year.py::test_without_a_defect_all_is_found_to_be_right": "the history itself",
}
"""Slow tests left to the soak, with the tests that stand in for them."""
FIRST = ("tests/drivers/test_real_machines.py",)
"""Long tests that mostly wait: started first, so that they overlap with the others."""


def addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--scope", choices=SCOPES, default="test", help="how much to run; a test that is named always runs"
    )


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not belong to the scope, unless it was named one by one; begin with what takes longest."""
    scope = config.getoption("--scope")
    named = [argument for argument in config.args if "::" in argument]
    places = _places(config)
    if missing := [] if named else without_path(items):
        raise pytest.UsageError(f"mark one test as `both` in {', '.join(missing)}: it has none on PostgreSQL")
    paths = paths_on_postgresql(items)
    left = [item for item in items if not belongs(item, scope, paths, places) and not _named(item, named)]
    if left:
        config.hook.pytest_deselected(items=left)
        out = set(left)
        items[:] = [item for item in items if item not in out]
    items.sort(key=lambda item: not starts_with(item.nodeid, FIRST))


def belongs(item: pytest.Item, scope: str, paths: Collection[str], places: Iterable[str] = ()) -> bool:
    """``places``: files and folders that were named, of which what takes long runs, too."""
    if scope == "soak":
        return True
    if item.get_closest_marker("soak") is not None:
        return False
    if starts_with(item.nodeid, LONG) and not starts_with(item.nodeid, places):
        return False
    if scope == "quick" and (starts_with(item.nodeid, NOT_QUICK) or _needs_postgresql(item)):
        return False
    if not _on_postgresql(item):
        return True
    return scope == "test" and (item.nodeid in paths or starts_with(item.nodeid, BOTH_DATABASES))


def paths_on_postgresql(items: Iterable[pytest.Item]) -> set[str]:
    """Return the first case of each test marked ``both``: the others differ in values only and run on SQLite."""
    first: dict[str, str] = {}
    for item in items:
        marked = item.get_closest_marker("both") is not None and item.get_closest_marker("soak") is None
        if marked and _on_postgresql(item):
            first.setdefault(item.nodeid.partition("[")[0], item.nodeid)
    return set(first.values())


def without_path(items: Collection[pytest.Item]) -> list[str]:
    """Files whose tests could run on PostgreSQL, and of which none does before a change lands."""
    paths = paths_on_postgresql(items)
    has_path: dict[str, bool] = {}
    for item in items:
        if _on_postgresql(item):
            file = item.nodeid.partition("::")[0]
            has_path[file] = has_path.get(file, False) or belongs(item, "test", paths)
    return sorted(file for file, has in has_path.items() if not has)


def starts_with(nodeid: str, paths: Iterable[str]) -> bool:
    return nodeid.startswith(tuple(paths))


def _places(config: pytest.Config) -> list[str]:
    """Return the paths named on the command line; the root folder does not count."""
    given = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    inside = [place.resolve() for place in given if place.resolve().is_relative_to(config.rootpath)]
    return [place.relative_to(config.rootpath).as_posix() for place in inside if place != config.rootpath / "tests"]


def _on_postgresql(item: pytest.Item) -> bool:
    """True if a test that could use SQLite runs on PostgreSQL."""
    call = getattr(item, "callspec", None)
    return call is not None and "postgresql" in call.params.values()


def _needs_postgresql(item: pytest.Item) -> bool:
    return "postgres_server" in getattr(item, "fixturenames", ())


def _named(item: pytest.Item, named: Iterable[str]) -> bool:
    return any(item.nodeid == name or item.nodeid.startswith(f"{name}[") for name in named)
