"""Bodies: strict JSON, and every problem at once in the interface's words."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Meta

from crofter.edge import bodies, json_reader
from crofter.edge.bodies import decode
from crofter.edge.json_reader import MAX_DEPTH, read_json
from crofter.errors import Invalid
from crofter.shapes import UNSET, Body, Optional


def even(value: int) -> str | None:
    return "Must be even" if value % 2 else None


class Node(msgspec.Struct):
    address: Annotated[str, Meta(min_length=3, max_length=5)]
    weight: Annotated[int, Meta(ge=1, le=255)] = 1


class Everything(Body):
    """A body with a field of each kind, in the order of the expected problems."""

    type: str
    size: Annotated[int, Meta(ge=10, le=20)]
    label: Annotated[str, Meta(min_length=3, max_length=6)] = "label"
    ratio: float = 0.5
    booted: bool = False
    status: Literal["on", "off"] = "on"
    tags: Annotated[list[str], Meta(max_length=2)] = []
    nodes: list[Node] = []
    options: dict[str, int] = {}
    group: str | None = None
    least: Annotated[int, Meta(ge=5)] = 5
    secret: Annotated[str, Meta(min_length=8, extra={"reason": "Too weak"})] = "long enough"
    pair: Annotated[int, Meta(extra={"check": even})] = 2
    changed: Optional[str] = UNSET
    seconds: Annotated[float, Meta(gt=0, lt=100)] = 1


GOOD = {"type": "nano", "size": 10}


def problems(sent: Any) -> list[tuple[str | None, str]]:
    try:
        decode(msgspec.json.encode(sent), Everything)
    except Invalid as problem:
        return [(field, reason) for reason, field in problem.reasons]
    return []


def test_a_good_body_is_read() -> None:
    assert problems(GOOD) == []
    assert decode(msgspec.json.encode({**GOOD, "changed": "x"}), Everything).changed == "x"


@pytest.mark.parametrize(
    ("field", "value", "problem_field", "reason"),
    [
        ("type", None, "type", "type is required"),
        ("type", 5, "type", "Must be of type String"),
        ("size", "10", "size", "Must be of type Integer"),
        ("size", True, "size", "Must be of type Integer"),
        ("size", 10.5, "size", "Must be of type Integer"),
        ("size", 9, "size", "Must be 10-20"),
        ("size", 21, "size", "Must be 10-20"),
        ("label", "ab", "label", "Length must be 3-6 characters"),
        ("label", "abcdefg", "label", "Length must be 3-6 characters"),
        ("label", ["abc"], "label", "Must be of type String"),
        ("ratio", "x", "ratio", "Must be of type Number"),
        ("ratio", False, "ratio", "Must be of type Number"),
        ("booted", 1, "booted", "Must be of type Boolean"),
        ("booted", "true", "booted", "Must be of type Boolean"),
        ("status", "idle", "status", "Must be one of on, off"),
        ("status", 3, "status", "Must be of type String"),
        ("tags", "a", "tags", "Must be of type Array"),
        ("tags", [1], "tags[0]", "Must be of type String"),
        ("tags", ["a", "b", "c"], "tags", "Must have 0-2 items"),
        ("nodes", [{}], "nodes[0].address", "address is required"),
        ("nodes", [{"address": "abc"}, {"address": "x"}], "nodes[1].address", "Length must be 3-5 characters"),
        ("nodes", [{"address": "abc", "weight": 0}], "nodes[0].weight", "Must be 1-255"),
        ("nodes", [3], "nodes[0]", "Must be of type Object"),
        ("nodes", {}, "nodes", "Must be of type Array"),
        ("options", [], "options", "Must be of type Object"),
        ("options", {"a": "b"}, "options.a", "Must be of type Integer"),
        ("group", 5, "group", "Must be of type String"),
        ("least", 4, "least", "Must be at least 5"),
        ("secret", "short", "secret", "Too weak"),
        ("pair", 3, "pair", "Must be even"),
        ("changed", 4, "changed", "Must be of type String"),
        ("seconds", 0, "seconds", "Must be more than 0"),
        ("seconds", 100.0, "seconds", "Must be less than 100"),
    ],
)
def test_each_problem_has_its_words(field: str, value: Any, problem_field: str, reason: str) -> None:
    assert problems({**GOOD, field: value}) == [(problem_field, reason)]


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_integers_of_64_bits_are_integers(value: int) -> None:
    assert problems({**GOOD, "pair": value}) in ([], [("pair", "Must be even")])


@pytest.mark.parametrize("digits", [str(2**63), str(-(2**63) - 1), "9" * 30, "1" + "0" * 5000])
def test_longer_ones_are_not(digits: str) -> None:
    with pytest.raises(Invalid) as caught:
        decode(b'{"type": "x", "size": %s}' % digits.encode(), Everything)
    assert caught.value.reasons == [("Must be of type Integer", "size")]


def test_all_problems_are_told_at_once_in_the_order_of_the_fields() -> None:
    sent = {"nodes": [{"weight": 0}], "label": "", "size": "x", "status": "idle", "booted": 1}
    assert [field for field, _ in problems(sent)] == [
        "type",
        "size",
        "label",
        "booted",
        "status",
        "nodes[0].address",
        "nodes[0].weight",
    ]


def test_a_field_that_may_be_null_keeps_its_null() -> None:
    assert decode(msgspec.json.encode({**GOOD, "group": None}), Everything).group is None


def test_a_null_that_may_not_be_is_as_good_as_nothing() -> None:
    read = decode(msgspec.json.encode({**GOOD, "label": None, "changed": None}), Everything)
    assert (read.label, read.changed) == ("label", UNSET)


@pytest.mark.parametrize("sent", [[], "x", 1, True, None])
def test_a_body_is_an_object(sent: Any) -> None:
    assert problems(sent) == [(None, "Must be of type Object")]


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"{}{}",
        b"{'a': 1}",
        b'{"a": 1,}',
        b'{"a": 01}',
        b'{"a": .5}',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1, "a": 2}',
        b'{"x": {"a": 1, "a": 1}}',
        b'{"a": "\x00"}',
        b'{"a": "\\u0000"}',
        b'{"\\u0000": 1}',
        b'{"a": "\\ud800"}',
        b'{"a": ["\\udc00x"]}',
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": "\xe9"}',
        b'{"a": "\xc0\xaf"}',
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a": [' + b"{}," * json_reader.MAX_CONTAINERS + b"{}]}",
        b'{"a": [' + b"{}," * 500 + b"{}]",
        b"// no\n{}",
        b"undefined",
    ],
)
def test_what_is_no_strict_json_is_refused(raw: bytes) -> None:
    with pytest.raises(Invalid) as caught:
        read_json(raw)
    assert caught.value.reasons == [("Invalid JSON", None)]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"  \n\t",
        b"{}",
        b'{"a": "\\ud83d\\ude00"}',
        b'{"a": "\xf0\x9f\x98\x80"}',
        b'{"a": 1e3}',
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b'{"a": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}',
        b'{"a": [' + b"{}," * 500 + b"{}]}",
        b'{"a": "' + b"{[" * 30_000 + b'"}',
        b'{"a": "\\"' + b"[" * 100 + b'"}',
        b'[{"a": [{}]}, ' * (MAX_DEPTH // 4) + b"1" + b"]" * (MAX_DEPTH // 4),
    ],
)
def test_what_is_strict_json_is_taken(raw: bytes) -> None:
    read_json(raw)


_TOKENS = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    " ",
    '"a"',
    '"b"',
    '"',
    "\\",
    "null",
    "true",
    "1",
    "-0",
    "1.5",
    "9" * 19,
    "é",
    "\0",
]
_TEXTS = st.sampled_from(["a", "b", "é", "", "two words", "{}", "\x7f"])
_SCALARS = st.one_of(_TEXTS, st.booleans(), st.none(), st.integers(), st.floats(), st.lists(st.integers(), max_size=2))
_OBJECTS = st.lists(st.tuples(_TEXTS, _SCALARS), max_size=4).map(
    lambda pairs: "{" + ", ".join(f"{_json(name)}: {_json(value)}" for name, value in pairs) + "}"
)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@given(st.one_of(st.lists(st.sampled_from(_TOKENS), max_size=9).map("".join), _OBJECTS))
@example('{"a": 1, "a": 1}')
@example('{"a": "b", "a": 1}')
@settings(max_examples=2000, deadline=None, database=None, derandomize=True)
def test_the_quick_way_to_read_a_body_says_what_the_close_one_says(text: str) -> None:
    raw = text.encode()
    quick = json_reader._simple_object(raw)
    if quick is not None:
        close = json_reader._strict(text)
        assert (close, [type(value) for value in close.values()]) == (quick, [type(value) for value in quick.values()])


def test_most_bodies_are_read_the_quick_way() -> None:
    assert json_reader._simple_object(b'{"label": "web", "size": 10, "booted": true}') == {
        "label": "web",
        "size": 10,
        "booted": True,
    }


def test_a_long_body_is_read_closely_whatever_it_is() -> None:
    """Numbers of thousands of digits would be worked out the quick way."""
    long = b'{"a": ' + b"9" * json_reader.MAX_SIMPLE + b"}"
    assert json_reader._simple_object(long) is None
    assert type(read_json(long)["a"]) is json_reader._HugeNumber


def test_thousands_of_mistakes_are_one_hundred() -> None:
    reasons = problems(GOOD | {"tags": [], "nodes": [{}] * 5000})
    assert reasons[:2] == [("nodes[0].address", "address is required"), ("nodes[1].address", "address is required")]
    assert len(reasons) == bodies.MOST_REASONS


def test_a_whole_number_with_a_point_is_an_integer() -> None:
    """Accept integers with a decimal point, as JSON Schema does: some languages always write one."""
    read = read_json(b'{"size": 20.0, "share": 0.5, "far": 1e300}')
    assert read == {"size": 20, "share": 0.5, "far": 1e300}
    assert [type(value) for value in read.values()] == [int, float, float]
