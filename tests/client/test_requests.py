"""Requests and output of the command line: flags, filters, pages, formats, refusals, profiles."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from crofter.client import flags, formats, paging, tree
from tests.client.conftest import Crofter
from tests.cloud import Cloud

COMMANDS = tree.load()


def body(words: str, *arguments: str) -> Any:
    _, command = tree.find(COMMANDS, words.split())
    assert command is not None
    return flags.body_of(command, flags.parse(command, list(arguments)))


def test_flags_become_a_body_of_the_right_types() -> None:
    """Numbers, booleans, lists, objects as JSON and in parts; both spellings; ``--data`` beneath it all."""
    assert body(
        "instances create", "--swap-size", "256", "--no-booted", "--tags", "a", "--tags=b", "--root_pass", "x"
    ) == {
        "swap_size": 256,
        "booted": False,
        "tags": ["a", "b"],
        "root_pass": "x",
    }
    assert body("instances update", "1", "--alerts.cpu", "80", "--data", '{"label": "web", "alerts": {"io": 1}}') == {
        "label": "web",
        "alerts": {"io": 1, "cpu": 80},
    }
    assert body("configs create", "1", "--devices.sda.disk_id", "7", "--label", "9", "--null", "comments") == {
        "devices": {"sda": {"disk_id": 7}},
        "label": "9",
        "comments": None,
    }
    assert body("instances update", "1", "--tags", "") == {"tags": []}
    assert body("instances boot", "1") == {}
    assert body("managed services create", "--timeout", "30") == {"timeout": 30}


def test_data_is_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"label": "web"}')
    assert body("instances create", "--data", f"@{tmp_path}/body.json", "--group", "a") == {
        "label": "web",
        "group": "a",
    }


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("instances", "create", "--swap-size", "many"), "--swap-size"),
        (("instances", "create", "--data", "{"), "not JSON"),
        (("instances", "create", "--data", "@/nowhere"), "No such file"),
        (("instances", "create", "--nonsense", "1"), "--nonsense"),
        (("instances", "create", "--data", "[]", "--label", "web"), "must be an object"),
        (("instances", "view"), "INSTANCE"),
        (("instances", "view", ""), "INSTANCE is empty"),
        (("instances", "list", "--filter", "label"), "FIELD=VALUE"),
        (("instances", "list", "--filter", "id=one"), "not of the type"),
        (("instances", "list", "--profile", "nobody"), "no profile"),
        (("instances", "list", "--url", "ftp://x"), "no address"),
        (("api", "GET", "v4"), "begins with a slash"),
        (("api", "GET", "/v4/a b"), "cannot be sent"),
        (("tickets", "attachments", "create", "1", "--file", "/nowhere"), "No such file"),
    ],
)
def test_wrong_usage_is_said_in_words(crofter: Crofter, words: tuple[str, ...], complaint: str) -> None:
    result = crofter(*words)
    assert (result.code, result.out) == (2, "")
    assert complaint in result.err
    assert "Traceback" not in result.err


def test_a_refusal_is_a_line_for_each_field(crofter: Crofter) -> None:
    result = crofter("instances", "create", "--label", "w")
    assert result.code == 1
    assert result.err.splitlines() == [
        "type: type is required",
        "region: region is required",
        "label: Length must be 3-64 characters",
    ]
    json_result = crofter("instances", "create", "--label", "w", "-o", "json")
    assert [error["field"] for error in json.loads(json_result.err)["errors"]] == ["type", "region", "label"]
    assert crofter("instances", "view", "77") == (1, "", "Not found\n")


def test_who_may_not_is_told_with_a_code_of_its_own(
    cloud: Cloud, crofter: Crofter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROFTER_TOKEN", cloud.token("ada", "computes:read_only"))
    assert crofter("instances", "list").code == 0
    assert crofter("tags", "create", "--label", "garden").code == 5
    monkeypatch.setenv("CROFTER_TOKEN", "nonsense")
    result = crofter("instances", "list")
    assert result.code == 5
    assert "crofter login" in result.err


def test_a_server_that_is_not_there_has_a_code_of_its_own(anybody: Crofter) -> None:
    result = anybody("--url", "http://127.0.0.1:9", "regions", "list")
    assert result.code == 6
    assert result.err == "crofter: http://127.0.0.1:9 cannot be reached: Connection refused\n"


# ---- output ---------------------------------------------------------------------------------------------------------


def test_each_form_of_a_list(crofter: Crofter) -> None:
    for label in ("acre", "barn", "coop"):
        crofter("tags", "create", "--label", label)
    assert crofter("tags", "list").out.splitlines() == ["label", "acre", "barn", "coop"]
    assert crofter("tags", "list", "-o", "id").out.split() == ["acre", "barn", "coop"]
    assert crofter("tags", "list", "-o", "csv").out == "label\nacre\nbarn\ncoop\n"
    assert crofter("tags", "list", "-o", "yaml").out.splitlines()[:2] == ["data:", "  - label: acre"]
    assert crofter("-o", "json", "tags", "list").json()["results"] == 3


def test_columns_are_chosen_by_flag_and_by_settings(crofter: Crofter, home: Path) -> None:
    assert crofter("regions", "list", "--columns", "id,resolvers.ipv4").out.splitlines()[0].split() == [
        "id",
        "resolvers.ipv4",
    ]
    (home / "config.toml").write_text('columns.regions = ["country", "id"]\n')
    assert crofter("regions", "list").out.splitlines()[0].split() == ["country", "id"]
    rows = list(csv.reader(io.StringIO(crofter("regions", "list", "-o", "csv", "--columns", "id,country").out)))
    assert rows[0] == ["id", "country"]
    assert ["eu-west", "uk"] in rows


@pytest.fixture
def tags(cloud: Cloud, crofter: Crofter) -> list[str]:
    """More than a page of the server's default size."""
    labels = [f"tag-{number:03}" for number in range(130)]
    for label in labels:
        assert crofter("tags", "create", "--label", label).code == 0
    return labels


def test_a_list_has_all_pages(crofter: Crofter, tags: list[str]) -> None:
    listed = crofter("tags", "list", "-o", "id")
    assert (listed.out.split(), listed.err) == (tags, "")
    assert crofter("tags", "list", "-o", "id", "--page-size", "25").out.split() == tags
    assert crofter("tags", "list", "-o", "id", "--page-size", "25", "--all").out.split() == tags
    whole = crofter("tags", "list", "-o", "json").json()
    assert (len(whole["data"]), whole["page"], whole["pages"], whole["results"]) == (130, 1, 1, 130)


def test_a_list_that_is_cut_says_so_on_standard_error(
    crofter: Crofter, tags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = crofter("tags", "list", "-o", "id", "--limit", "30")
    assert (few.code, few.out.split()) == (0, tags[:30])
    assert few.err == "crofter: 30 of 130 items; --all shows all\n"
    assert crofter("tags", "list", "-o", "id", "--limit", "130").err == ""
    monkeypatch.setattr(paging, "MOST", 40)
    cut = crofter("tags", "list", "-o", "id", "--page-size", "25")
    assert (cut.out.split(), cut.err) == (tags[:40], "crofter: 40 of 130 items; --all shows all\n")
    assert crofter("tags", "list", "-o", "id", "--all").out.split() == tags


def test_one_page_of_a_list(crofter: Crofter, tags: list[str]) -> None:
    page = crofter("tags", "list", "-o", "id", "--page-size", "50", "--page", "3")
    assert page.out.split() == tags[100:]
    assert page.err == "crofter: page 3 of 3; --all shows all 130 items\n"
    for words in (["--limit", "0"], ["--limit", "x"], ["--all", "--limit", "5"], ["--all", "--page", "2"]):
        assert crofter("tags", "list", *words).code == 2, words


def test_filters(crofter: Crofter) -> None:
    everything = set(crofter("types", "list", "-o", "id").out.split())
    assert "g6-standard-1" in everything
    large = crofter("types", "list", "-o", "json", "--filter", "memory>=16384", "--filter", "class=standard").json()
    assert {plan["class"] for plan in large["data"]} == {"standard"}
    assert min(plan["memory"] for plan in large["data"]) >= 16384
    ordered = crofter("types", "list", "-o", "json", "--order-by", "memory", "--desc").json()["data"]
    assert [plan["memory"] for plan in ordered] == sorted((plan["memory"] for plan in ordered), reverse=True)
    named = crofter("types", "list", "-o", "json", "--filter-json", '{"label": {"+contains": "4GB"}}').json()
    assert named["results"] < len(everything)


def test_text_of_others_gives_a_terminal_no_orders() -> None:
    assert formats.rendered([{"label": "a\x1b[2Jb\nc"}], "table", ["label"]) == "label\na [2Jb c\n"


def test_a_table_shrinks_to_the_terminal() -> None:
    shown = formats.rendered(
        [{"id": 1, "label": "x" * 100, "kind": "y" * 50}], "table", ["id", "label", "kind"], True, 60
    )
    assert max(map(len, shown.splitlines())) == 60
    assert "…" in shown


def test_yaml_keeps_text_text() -> None:
    output = formats.rendered({"a": "no", "b": "1", "c": [], "d": [{"e": None, "f": "x: y"}], "": "é"}, "yaml")
    assert output == 'a: "no"\nb: "1"\nc: []\nd:\n  - e: null\n    f: "x: y"\n"": "\\u00e9"\n'


def test_one_object_has_a_line_for_each_field_and_a_table_for_each_list() -> None:
    shown = formats.rendered({"id": 1, "specs": {"disk": 5}, "disks": [{"id": 2, "size": 3}]}, "table")
    assert shown == "id          1\nspecs.disk  5\n\ndisks:\n  id  size\n   2     3\n"


# ---- other requests -------------------------------------------------------------------------------------------------


def test_any_request_can_be_sent(crofter: Crofter, tmp_path: Path) -> None:
    assert crofter("api", "post", "/v4/tags", "--data", '{"label": "garden"}').json() == {"label": "garden"}
    (tmp_path / "body").write_text('{"label": "meadow"}')
    planned = crofter("api", "POST", "/v4/tags", "--data", f"@{tmp_path}/body", "--header", "Prefer: plan").json()
    assert planned["plan"]["valid"] is True
    assert crofter("api", "GET", "/v4/tags?page_size=25", "-o", "id").out == "garden\n"
    refused = crofter("api", "GET", "/v4/nothing")
    assert (refused.code, json.loads(refused.err)["errors"][0]["reason"]) == (1, "Not found")


def test_a_plan_changes_nothing_and_a_key_does_it_once(crofter: Crofter) -> None:
    assert crofter("tags", "create", "--label", "garden", "--plan", "-o", "json").json()["plan"]["valid"] is True
    assert crofter("tags", "list", "-o", "id").out == ""
    twice = [crofter("tags", "create", "--label", "garden", "--idempotency-key", "one") for _ in range(2)]
    assert [result.code for result in twice] == [0, 0]


def test_files_are_sent_and_saved(crofter: Crofter, tmp_path: Path) -> None:
    ticket = crofter("tickets", "create", "--summary", "Help", "--description", "It is broken.", "-o", "id").out.strip()
    note = tmp_path / "note.txt"
    note.write_text("plain words")
    assert crofter("tickets", "attachments", "create", ticket, "--file", str(note)).code == 0
    assert crofter("tickets", "attachments", "view", ticket, "note.txt").out == "plain words"
    assert crofter("tickets", "attachments", "view", ticket, "note.txt", "--to", f"{tmp_path}/saved").code == 0
    assert (tmp_path / "saved").read_text() == "plain words"


# ---- profiles -------------------------------------------------------------------------------------------------------


def test_profiles_say_where_and_as_whom(cloud: Cloud, anybody: Crofter, home: Path) -> None:
    token = cloud.account(username="grace")["token"]
    (home / "config.toml").write_text(
        f'[profiles.work]\nurl = "{cloud.url}/"\ntoken = "{token}"\noutput = "id"\n'
        '[profiles.lost]\nurl = "http://127.0.0.1:9"\n'
    )
    assert anybody("profile", "view", "--profile", "work").out == "grace\n"
    assert anybody("--profile", "lost", "regions", "list").code == 6
    (home / "config.toml").write_text(f'profile = "work"\n{(home / "config.toml").read_text()}')
    assert anybody("profile", "view").out == "grace\n"
    (home / "config.toml").write_text("profile =")
    assert "config.toml" in anybody("profile", "view").err


def test_the_token_of_a_profile_goes_to_no_other_server(
    cloud: Cloud, anybody: Crofter, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = cloud.account(username="grace")["token"]
    (home / "config.toml").write_text(f'[profiles.work]\nurl = "http://127.0.0.1:9"\ntoken = "{token}"\n')
    monkeypatch.setenv("CROFTER_URL", cloud.url)
    assert anybody("profile", "view", "--profile", "work").code == 5
    monkeypatch.setenv("CROFTER_TOKEN", token)
    assert anybody("profile", "view", "--profile", "work").code == 0
