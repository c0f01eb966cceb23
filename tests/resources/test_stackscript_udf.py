"""User-defined fields: their declaration, validation and values in the script."""

from __future__ import annotations

import contextlib
import subprocess
from typing import Any

import msgspec
import pytest

from crofter.resources.stackscripts.rules import with_environment
from crofter.resources.stackscripts.udf import MAX_FIELDS, UdfError, complaints, parse, values

SCRIPT = """#!/bin/bash
# <UDF name="hostname" label="The name of the server" example="web1" />
# <UDF name="db_password" label="Password of the database" />
#<udf name='port' label="The port" default="80">
# <UDF name="color" Label="A color" oneOf="red, green,blue" default="red"/>
# <UDF name="extras" label="What else" manyof="git,vim,tmux" default="" />
echo "$HOSTNAME"
"""
GIVEN = {"hostname": "web1", "db_password": "s3cret"}


def reasons(script: str, data: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(complaint.reason, complaint.field) for complaint in complaints(parse(script), data)]


def test_the_fields_of_a_script_are_found_in_its_order() -> None:
    assert msgspec.to_builtins(parse(SCRIPT)) == [
        {"label": "The name of the server", "name": "hostname", "example": "web1"},
        {"label": "Password of the database", "name": "db_password", "example": ""},
        {"label": "The port", "name": "port", "example": "", "default": "80"},
        {"label": "A color", "name": "color", "example": "", "oneOf": "red, green,blue", "default": "red"},
        {"label": "What else", "name": "extras", "example": "", "manyOf": "git,vim,tmux", "default": ""},
    ]


@pytest.mark.parametrize(
    "script",
    ["", "#!/bin/sh\necho hi", "#!/bin/sh\n# see the <UDF> tag", "#!/bin/sh\n# <udfs name='x' label='y'>", "<udf"],
)
def test_a_script_may_ask_for_nothing(script: str) -> None:
    assert parse(script) == []


def test_a_value_may_hold_what_would_end_a_tag() -> None:
    (field,) = parse("""# <UDF name="arrow" label='say "->"' default="a > b" />""")
    assert (field.label, field.default) == ('say "->"', "a > b")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('# <UDF name="x" label="X"', "Line 2: the UDF tag cannot be read"),
        ("# <UDF name=x label=X />", "Line 2: the UDF tag cannot be read"),
        ('# <UDF label="X" />', "Line 2: the name of a UDF must be letters"),
        ('# <UDF name="1st" label="X" />', "Line 2: the name of a UDF must be letters"),
        ('# <UDF name="a b" label="X" />', "Line 2: the name of a UDF must be letters"),
        ('# <UDF name="x" />', "Line 2: the UDF x has no label"),
        ('# <UDF name="x" label="X" hint="y" />', "Line 2: a UDF has no hint"),
        ('# <UDF name="x" label="X" oneof="a" manyof="b" />', "Line 2: the UDF x has both oneof and manyof"),
        ('# <UDF name="x" label="X" oneof="a,,b" />', "Line 2: an option of the UDF x is empty"),
        ('# <UDF name="x" label="X" manyof="" />', "Line 2: an option of the UDF x is empty"),
        (
            '# <UDF name="x" label="X" />\n# <UDF name="x" label="Y" />',
            "Line 3: there is another UDF with the name x",
        ),
    ],
)
def test_a_field_that_makes_no_sense_is_named(line: str, message: str) -> None:
    with pytest.raises(UdfError) as caught:
        parse(f"#!/bin/sh\n{line}\n")
    assert str(caught.value).startswith(message)


def test_a_script_asks_for_a_bounded_number_of_fields() -> None:
    lines = [f'# <UDF name="x{number}" label="X" />' for number in range(MAX_FIELDS + 1)]
    assert len(parse("\n".join(lines[:-1]))) == MAX_FIELDS
    with pytest.raises(UdfError, match="more than 100 UDFs"):
        parse("\n".join(lines))


@pytest.mark.parametrize(
    "script",
    [
        "<udf " * 40_000,
        "<udf" + " " * 200_000,
        "<udf a=\"'" * 20_000,
        "<udf " + "a='b' " * 30_000,
        "<udf " + "a" * 200_000,
        "<udf a" + " " * 200_000,
    ],
)
def test_a_hostile_script_costs_no_more_than_its_length(script: str) -> None:
    with contextlib.suppress(UdfError):
        parse(script)


def test_what_has_no_default_is_required() -> None:
    assert reasons(SCRIPT, {}) == [
        ("hostname is required", "stackscript_data.hostname"),
        ("db_password is required", "stackscript_data.db_password"),
    ]
    assert reasons(SCRIPT, {"hostname": None, "db_password": ""}) == reasons(SCRIPT, {})
    assert reasons(SCRIPT, GIVEN) == []


def test_an_empty_default_makes_a_field_optional() -> None:
    script = '# <UDF name="note" label="Note" default="" />'
    assert reasons(script, {}) == []
    assert reasons(script, {"note": ""}) == []


@pytest.mark.parametrize("value", [1, 1.5, True, ["a"], {"a": "b"}])
def test_values_are_strings(value: Any) -> None:
    assert reasons(SCRIPT, {**GIVEN, "port": value}) == [("Must be of type String", "stackscript_data.port")]


@pytest.mark.parametrize(("value", "good"), [("red", True), ("green", True), ("Red", False), ("red,blue", False)])
def test_one_of_takes_one_of_its_options(value: str, good: bool) -> None:
    refusal = [("Must be one of red, green, blue", "stackscript_data.color")]
    assert reasons(SCRIPT, {**GIVEN, "color": value}) == ([] if good else refusal)


@pytest.mark.parametrize(
    ("value", "good"), [("", True), ("git", True), ("git,tmux", True), ("vim, git", True), ("git,nano", False)]
)
def test_many_of_takes_any_of_its_options(value: str, good: bool) -> None:
    refusal = [("Must be one of git, vim, tmux", "stackscript_data.extras")]
    assert reasons(SCRIPT, {**GIVEN, "extras": value}) == ([] if good else refusal)


def test_a_value_has_a_bounded_length() -> None:
    assert reasons(SCRIPT, {**GIVEN, "hostname": "x" * 65535}) == []
    assert reasons(SCRIPT, {**GIVEN, "hostname": "x" * 65536}) == [
        ("Length must be 0-65535 characters", "stackscript_data.hostname")
    ]


def test_all_that_is_wrong_is_said_in_the_order_of_the_script() -> None:
    fields = [field for _, field in reasons(SCRIPT, {"extras": "x", "color": "y", "port": 7})]
    assert fields == [f"stackscript_data.{name}" for name in ("hostname", "db_password", "port", "color", "extras")]


def test_what_was_not_asked_for_is_passed_over() -> None:
    assert reasons(SCRIPT, {**GIVEN, "more": {"deep": 1}}) == []
    assert "more" not in values(parse(SCRIPT), {**GIVEN, "more": "x"})


def test_defaults_stand_in_for_what_was_not_given() -> None:
    assert values(parse(SCRIPT), {**GIVEN, "port": None}) == {
        "hostname": "web1",
        "db_password": "s3cret",
        "port": "80",
        "color": "red",
        "extras": "",
    }


@pytest.mark.parametrize("shell", ["sh", "env python3"])
def test_a_script_of_any_language_finds_its_values_in_the_environment(shell: str) -> None:
    hostile = 'it\'s $(touch /tmp/x) `id` "q"\nEND_OF_SCRIPT\n\\ é'
    body = 'printf %s "$WORD"' if shell == "sh" else "import os; print(os.environ['WORD'], end='')"
    start = "#!/bin/sh" if shell == "sh" else f"#!/usr/bin/{shell}"
    wrapped = with_environment(f"{start}\n{body}\n", {"WORD": hostile})
    ended = subprocess.run(["/bin/sh"], input=wrapped.encode(), capture_output=True, timeout=20, check=True)
    assert ended.stdout.decode() == hostile


def test_a_script_that_asks_for_nothing_runs_as_it_is() -> None:
    assert with_environment("#!/bin/sh\necho hi\n", {}) == "#!/bin/sh\necho hi\n"
