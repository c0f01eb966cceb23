"""Every fenced block of every page runs; the few that cannot are listed here with their reasons."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tools import node

from tests import page_player
from tests.page_player import Block, blocks

ROOT = Path(__file__).resolve().parent.parent
PAGES = [str(path.relative_to(ROOT)) for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])]
LISTED = {page: blocks(page, (ROOT / page).read_text(encoding="utf-8")) for page in PAGES}
ELSEWHERE = {
    "docs/adding-an-endpoint.md": "tests/test_pages.py",
    "docs/adding-an-operation.md": "tests/test_pages.py",
    "docs/benchmarks.md": "bench/report.py",
    "docs/guides/failover.md": "tests/db/test_failover_guide.py",
    "docs/machine-times.md": "bench/machines.py",
    "docs/state-machine.md": "tools/states.py",
}
"""Pages that are played by a test of their own, or written by a program, and by which."""
PLAYED = [page for page, listed in LISTED.items() if listed and page not in ELSEWHERE]
NODE = pytest.mark.skipif(
    shutil.which("node", path=node.environment()["PATH"]) is None, reason="there is no Node here (make node)"
)
MARKS = {"docs/guides/javascript.md": NODE}
NOT_RUN = {
    "installs the whole project or runs its tests": 5,
    "needs a container engine": 2,
    "needs a program that the tests do not install": 1,
    "needs root, other hosts or a network of one's own": 24,
    "output of a command that needs a server of another state": 1,
}
"""How many blocks of a reason there are, over all pages. A larger number needs a better reason."""


def has_test(block: Block) -> bool:
    """True if the test that a mark names exists and reads the page."""
    name = block.mark.removeprefix("test ")
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")]
    return any(f"def {name}(" in source and Path(block.page).name in source for source in sources)


def play(folder: Path, listed: list[Block]) -> list[Block]:
    """Run a page, and return the blocks that were neither run nor excused."""
    with page_player.playing(folder, listed) as player:
        for block in listed:
            if block.mark.startswith("test "):
                assert has_test(block), f"{block.place}: there is no such test"
                player.run.append(block)
            elif block.reason is None:
                player.play(block)
    return [block for block in listed if block not in player.run and block.reason is None]


@pytest.mark.parametrize("page", [pytest.param(page, marks=MARKS.get(page, ())) for page in PLAYED])
def test_every_block_of_the_page_runs(tmp_path: Path, page: str) -> None:
    assert play(tmp_path, LISTED[page]) == []


def test_blocks_that_are_not_run_have_a_known_reason() -> None:
    reasons = [block.reason for page in PLAYED for block in LISTED[page] if block.reason is not None]
    assert {reason: reasons.count(reason) for reason in reasons} == NOT_RUN


def test_commands_of_blocks_that_are_not_run_exist() -> None:
    planted = Block("planted.md", 1, "not run: x", "sh", "crofter admin doctor\ncrofter admin docter --json\n")
    assert page_player.unknown(planted) == ["admin docter --json"]
    excused = [block for listed in LISTED.values() for block in listed if block.reason is not None]
    assert [line for block in excused for line in page_player.unknown(block)] == []


def test_pages_that_are_played_elsewhere_are_named_there() -> None:
    for page, program in ELSEWHERE.items():
        assert Path(page).name.removesuffix(".md") in (ROOT / program).read_text(encoding="utf-8")
    assert all(LISTED[page] for page in ELSEWHERE)


PLANTED = {
    "```python\nprint(1)\n```\n": "this block is not run",
    "<!-- whatever -->\n\n```sh\ntrue\n```\n": "this block is not run",
    "```sh\nfalse\n```\n": "false",
    "```sh\nfalse\ntrue\n```\n": "1 false",
    "<!-- exit 3 -->\n\n```sh\n(exit 4)\n```\n": "exit 4",
    "<!-- exit 3 -->\n\n```sh\ntrue\n```\n": "true",
    '```sh\necho \'{"a": 1}\'\n```\n\n```json\n{"b": 1}\n```\n': "b is missing",
    "```sh\necho one\n```\n\n```text\ntwo\n```\n": "printed was",
    "```text\nalone\n```\n": "nothing was run",
    "<!-- source README.md -->\n\n```python\nnever there\n```\n": "not in README.md",
    "<!-- test test_nothing -->\n\n```text\nx\n```\n": "there is no such test",
    "<!-- background -->\n\n```sh\nsleep 100 & echo on\n```\n\n```text\non\n```\n\n```sh\nfalse\n```\n": "1 false",
}


@pytest.mark.parametrize("page", PLANTED)
def test_a_planted_block_is_refused(tmp_path: Path, page: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(PLANTED[page])):
        play(tmp_path, blocks("planted.md", page))


def test_a_planted_page_is_played(tmp_path: Path) -> None:
    page = (
        "<!-- file a.txt -->\n\n```text\nhello 127.0.0.1:8420\n```\n\n```sh\nA=$(cat a.txt)\n```\n\n"
        "<!-- exit 3 -->\n\n```sh\n(exit 3)\n```\n"
        '```sh\nfor i in 1 2; do\n  echo "$A" 2.5 2026-11-16T07:10:49\ndone\n```\n\n'
        "```text\nhello …  3.75 2026-11-17T07:10:50\nhello … 1.0 2026-11-16T07:10:49\n```\n"
    )
    assert play(tmp_path, blocks("planted.md", page)) == []
    with pytest.raises(AssertionError, match="a fence is not read"):
        blocks("planted.md", "  ```sh\n  true\n  ```\n")
