"""Accuracy of the documentation: links, settings and commands exist, and the README's walk works."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crofter.config import RATE_LIMITS, Settings
from crofter.edge.router import Router
from crofter.operations import JOBS
from crofter.registry import ENDPOINTS
from tests.cloud import ADMIN, Cloud
from tests.plain_words import metaphors

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WITH_COMMANDS = ("README.md", "docs/sandbox.md", "docs/errors.md")

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str) -> list[tuple[str, str]]:
    """Each piece of code between fences: its language, and what is in it."""
    return BLOCK.findall(text)


# Links


def anchors(text: str) -> set[str]:
    """Return the link targets of headings."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path, text: str) -> list[str]:
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", BLOCK.sub("", text))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        there = target == page or target.exists()
        if not there or (anchor and anchor not in anchors(text if target == page else target.read_text())):
            wrong.append(f"{page.relative_to(ROOT)}: {link}")
    return wrong


def test_every_link_leads_somewhere() -> None:
    planted = "# A, b\n[a](nowhere.md) [b](#a-b) [c](#c) [d](README.md) [e](https://crofter.example) `[f](no.md)`"
    assert broken_links(ROOT / "planted.md", planted) == ["planted.md: nowhere.md", "planted.md: #c"]
    assert len(PAGES) > 20
    assert [wrong for page in PAGES for wrong in broken_links(page, page.read_text(encoding="utf-8"))] == []


# Names of files and modules

FOLDERS = ("src", "tests", "docs", "tools", "bench", "db", "edge", "engine", "drivers", "login", "resources", "sandbox")
PLACES = (ROOT, ROOT / "src" / "crofter")


def wrong_names(text: str) -> list[str]:
    """Files, folders, modules and their attributes that are named in code, and are not there."""
    return [name for name in CODE.findall(BLOCK.sub("", text)) if not (_is_file(name) and _is_attribute(name))]


def _is_file(name: str) -> bool:
    """True for what does not look like a file or a folder of ours either."""
    first, slash, _ = name.partition("/")
    if not re.fullmatch(r"[\w./*-]+", name) or not (name.endswith(".py") or (slash and first in FOLDERS)):
        return True
    if not slash:
        return any(any((ROOT / folder).rglob(name)) for folder in ("src", "tests", "tools"))
    return any(any(place.glob(name.rstrip("/"))) for place in PLACES)


def _is_attribute(name: str) -> bool:
    """``engine.enqueue``, ``crofter.edge.app``: what begins like a module of ours is one, and has what is named."""
    match = re.match(r"((?:crofter\.)?[a-z_]+)\.([a-z_]+)\b(?!/)", name)
    if match is None or re.search(r"\.(py|md|toml|json|db|tsv|key|lock)\b", name):
        return True
    module = "crofter." + match[1].removeprefix("crofter.")
    if match[1] in ("db", "crofter") or importlib.util.find_spec(module) is None:
        return True  # `db` is what a transaction is called everywhere
    there = hasattr(importlib.import_module(module), match[2])
    return there or importlib.util.find_spec(f"{module}.{match[2]}") is not None


def test_every_file_and_module_that_is_named_is_there() -> None:
    planted = (
        "`edge/gone.py` `edge/app.py` `api.py` `nowhere.py` `tests/test_whole*.py` `engine.enqueue(ctx)` `engine.gone`"
    )
    assert wrong_names(planted) == ["edge/gone.py", "nowhere.py", "engine.gone"]
    wrong_by_page = {page.name: wrong_names(page.read_text(encoding="utf-8")) for page in PAGES}
    assert {name: wrong for name, wrong in wrong_by_page.items() if wrong} == {}


# Plain words


def test_the_pages_use_the_words_of_the_field() -> None:
    assert metaphors("On the next floor, behind a Door: a doorbell", "floors?") == ["floor", "door"]
    words_by_page = {page.name: metaphors(page.read_text(encoding="utf-8"), "floors?") for page in PAGES}
    assert {name: words for name, words in words_by_page.items() if words} == {}


# Commands of make


def made(text: str) -> set[str]:
    """Return the make targets in code blocks and code spans."""
    code = [inside for _, inside in blocks(text)] + CODE.findall(BLOCK.sub("", text))
    return {target for piece in code for target in re.findall(r"\bmake ([a-z]+)\b", piece)}


def test_every_command_of_make_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    assert made("```sh\nmake tea\n```\n`make coffee`, and make do") == {"tea", "coffee"}
    assert made(text_of("README.md")) >= {"serve", "test"}
    assert {name for page in PAGES for name in made(page.read_text(encoding="utf-8"))} - targets == set()


# Settings


def settings() -> set[str]:
    """The variables that are read; rate limits have one each."""
    names = set(Settings.__struct_fields__) - {"rate_limits", "regions"}  # except for tables of the file
    return {f"CROFTER_{name.upper()}" for name in names} | {"CROFTER_CONFIG"}


def limits() -> set[str]:
    return {f"CROFTER_RATE_LIMIT_{name.upper()}" for name in RATE_LIMITS}


def test_every_setting_is_documented_and_every_documented_one_is_a_setting() -> None:
    text = text_of("docs/operating.md")
    named = set(re.findall(r"CROFTER_[A-Z_]*[A-Z]", text))
    others = {"CROFTER_URL", "CROFTER_RATE_LIMIT"}  # variables of a client, and a family of variables
    assert named - others - limits() == settings()
    rows = set(re.findall(r"^\| `(CROFTER_[A-Z_]+)` \|", text, re.MULTILINE))
    assert rows == settings() - {"CROFTER_CONFIG"}
    assert set(re.findall(r"^\| `([a-z_]+)` \| \d+ per \d+ minute \|", text, re.MULTILINE)) == set(RATE_LIMITS)


def test_defaults_are_the_documented_ones() -> None:
    text = text_of("docs/operating.md")
    documented = dict(re.findall(r"^\| `CROFTER_([A-Z_]+)` \| `([^`]+)` \|", text, re.MULTILINE))
    actual = {name: getattr(Settings(), name.lower()) for name in documented}
    assert {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in actual.items()} == (
        documented
    )
    for name, limit in re.findall(r"^\| `([a-z_]+)` \| (\d+ per \d+ minute) \|", text, re.MULTILINE):
        assert RATE_LIMITS[name] == limit


# Promises


def test_the_promises_name_tests_that_exist_and_figures_of_today() -> None:
    text = text_of("docs/promises.md")
    named = set(re.findall(r"`(tests/[\w/.]+)`", text))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    assert set(re.findall(r"of (?:the )?(\d+) operations", text)) == {str(len(ENDPOINTS))}
    steps = sum(len(job.operation.steps) for job in JOBS)
    assert f"{steps} steps of {len(JOBS)} jobs" in text


# Calls


class Call(NamedTuple):
    """A curl command, as far as it matters to the server."""

    method: str
    path: str
    token: str | None
    headers: dict[str, str]
    body: str | None
    endless: bool


def calls(text: str) -> Iterator[Call]:
    for language, code in blocks(text):
        if language == "sh":
            yield from (call for line in lines(code) if (call := read(line)) is not None)


def lines(code: str) -> list[str]:
    """Commands of a block; one may go over several lines, within quotes or behind a backslash."""
    commands = [""]
    for line in code.replace("\\\n", " ").splitlines():
        commands[-1] += line + "\n"
        if commands[-1].count("'") % 2 == 0:
            commands.append("")
    return [line.strip() for line in commands if line.strip()]


def read(line: str) -> Call | None:
    inner = re.search(r"\$\((curl .*?)(?: \| .*)?\)\"$", line)
    words = shlex.split(inner[1] if inner else line, comments=True)
    if not words or words[0] != "curl":
        return None
    place = next(word for word in words if word.startswith("$API"))
    body = words[words.index("--json") + 1] if "--json" in words else None
    method = words[words.index("-X") + 1] if "-X" in words else "GET" if body is None else "POST"
    sent = [value for word, value in pairwise(words) if word == "-H"]
    token = next((value.removeprefix("$") for value in sent if value.startswith("$")), None)
    headers = {
        name: value for name, _, value in (header.partition(": ") for header in sent if not header.startswith("$"))
    }
    return Call(method, place.removeprefix("$API"), token, headers, body, "-sN" in words)


@pytest.mark.parametrize("page", WITH_COMMANDS)
@pytest.mark.both
def test_every_call_in_the_documents_leads_to_an_endpoint_or_a_mount(cloud: Cloud, page: str) -> None:
    router = Router(ENDPOINTS)
    requests = list(calls(text_of(page)))
    assert requests
    for call in requests:
        path = call.path.partition("?")[0]
        if path.startswith("/v4"):
            match = router.match(call.method, path.encode())
            assert match is not None, call
            assert match.endpoint is not None, call
        else:
            assert path.split("/")[1] in cloud.application.app.parts.mounts, call
            assert cloud.sandbox.request("PATCH", path).status_code == 405, call


# The walk through the README


def unlike(shown: Any, real: Any, where: str = "") -> list[str]:
    """Where an answer differs from what is printed. Numbers and moments are of their day; an ellipsis is anything."""
    if shown == "…" or (isinstance(shown, (int, float)) and isinstance(real, (int, float))):
        return []
    if isinstance(shown, dict) and isinstance(real, dict):
        wanted = {name: value for name, value in shown.items() if name != "…"}
        missing = [f"{where}.{name} is missing" for name in wanted if name not in real]
        inside = (unlike(value, real[name], f"{where}.{name}") for name, value in wanted.items() if name in real)
        return missing + [wrong for part in inside for wrong in part]
    if isinstance(shown, list) and isinstance(real, list):
        left = iter(real)
        there = all(any(not unlike(item, item_there) for item_there in left) for item in shown if item != "…")
        return [] if there else [f"{where}: {real}"]
    if isinstance(shown, str) and isinstance(real, str):
        moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
        if re.fullmatch(moment, shown) and re.fullmatch(moment, real):
            return []
        start = shown[:4] if shown.startswith("ccp_") else shown.partition("…")[0]
        if "…" in shown and (real.startswith(start) or re.match(r"[0-9a-f]{8}-", real)):
            return []
    return [] if shown == real else [f"{where}: {real!r}, not {shown!r}"]


def test_a_difference_is_seen() -> None:
    shown = {"id": 1, "now": "2026-11-16T07:10:49", "data": [{"label": "a"}, "…", {"label": "c"}], "…": "…"}
    real = {"id": 2, "now": "2027-01-01T00:00:00", "data": [{"label": "a"}, {"label": "b"}, {"label": "c"}], "x": 0}
    assert unlike(shown, real) == []
    assert unlike({"errors": []}, {}) == [".errors is missing"]
    assert unlike({"status": "running"}, {"status": "offline"}) != []
    assert unlike(shown, {**real, "data": real["data"][:1]}) != []  # type: ignore[index]


def printed(code: str) -> list[Any]:
    """Return the JSON values of a block."""
    values, decoder, rest = [], json.JSONDecoder(), code.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        values.append(value)
        rest = rest[end:].lstrip()
    return values


def walk(text: str) -> Iterator[tuple[str, Call, Any]]:
    """Each call with its whole line, and the answer that is printed behind its block, if there is one."""
    pieces = [*blocks(text), ("", "")]
    for (language, code), (next_language, answers) in pairwise(pieces):
        if language == "sh":
            requests = [(line, call) for line in lines(code) if (call := read(line)) is not None]
            shown = printed(answers) if next_language == "json" else [None] * len(requests)
            assert len(shown) == len(requests), code
            yield from ((line, call, answer) for (line, call), answer in zip(requests, shown, strict=True))


def test_the_walk_through_the_readme_goes_as_it_says(cloud: Cloud) -> None:
    tokens = {"AUTH": ADMIN}
    steps = 0
    for line, call, shown in walk(text_of("README.md")):
        if call.endless:
            continue
        headers = call.headers | ({"Authorization": f"Bearer {tokens[call.token]}"} if call.token else {})
        body = None if call.body is None else json.loads(call.body)
        answer = cloud.sandbox.request(call.method, call.path, headers=headers, json=body)
        if re.match(r"[A-Z]+=", line):
            tokens[line.partition("=")[0]] = answer.json()["token"]
        if shown is not None:
            assert unlike(shown, answer.json()) == [], line
        steps += 1
    assert steps > 30


@pytest.mark.parametrize("cloud", ["sqlite"], indirect=True)
def test_the_refusals_on_the_page_of_errors_are_the_real_ones(cloud: Cloud) -> None:
    listed = [(call, answer) for _, call, answer in walk(text_of("docs/errors.md")) if call.token != "NARROW"]
    assert len([answer for _, answer in listed if answer is not None]) >= 4
    for call, answer in listed:
        body = None if call.method == "GET" else json.loads(call.body or "{}")
        refused = cloud.admin.request(call.method, call.path, headers=call.headers, json=body)
        if answer is not None:
            assert (refused.status_code, refused.json()) == (400, answer)
