"""The pages about adding things: their code, put into a copy of the tree, works as it is printed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("docs/adding-an-endpoint.md", "docs/adding-an-operation.md")
COPIED: tuple[str, ...] = (
    "src",
    "tests",
    "tools",
    "docs",
    "pyproject.toml",
    "openapi.json",
    "COVERAGE.md",
    "Makefile",
    "README.md",
)
COPIED += ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "uv.lock")
BLOCK = re.compile(r"^(?:<!-- (\w+) ?(\S*) -->\n\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = ("sh",)
"""Languages of blocks that may stand without an instruction: commands that need a server."""


class Block(NamedTuple):
    """Action of a block of a page: create, append, edit or run."""

    action: str
    file: str
    language: str
    code: str


def blocks(text: str) -> list[Block]:
    return [Block(*parts) for parts in BLOCK.findall(text)]


def without_instruction(listed: list[Block]) -> list[str]:
    return [block.code for block in listed if not block.action and block.language not in SHOWN]


def apply(block: Block, root: Path) -> None:
    """Change one file of the tree as the block says."""
    file = root / block.file
    if block.action == "create":
        assert not file.exists(), f"{block.file} is there already"
        file.write_text(block.code, encoding="utf-8")
    elif block.action == "append":
        text = file.read_text(encoding="utf-8")
        between = "" if block.language == "tsv" else "\n\n"
        file.write_text(f"{text}{between}{block.code}", encoding="utf-8")
    elif block.action == "edit":
        text, (old, new) = file.read_text(encoding="utf-8"), halves(block.code)
        assert text.count(old) == 1, f"{block.file} has {text.count(old)} times:\n{old}"
        file.write_text(text.replace(old, new), encoding="utf-8")
    else:
        raise AssertionError(f"{block.action} is no instruction")


def halves(diff: str) -> tuple[str, str]:
    """Return the old and the new text of a diff."""
    lines = diff.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if line[0] != "+")
    return old, "".join(line[1:] for line in lines if line[0] != "-")


def commands(block: Block) -> Iterator[list[str]]:
    for line in block.code.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line)
        yield [str(Path(sys.executable).with_name(program.removeprefix(".venv/bin/"))), *arguments]


def run(command: list[str], root: Path) -> str:
    """Run a command and return its output if it fails."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CROFTER"))}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    variables |= {"PYTHONPATH": str(root / "src")}
    done = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, timeout=300, check=False)
    return "" if done.returncode == 0 else f"{shlex.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"


def copy(root: Path) -> Path:
    """With what was compiled: files keep their times, so it stays good."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name)
        else:
            shutil.copy(ROOT / name, root / name)
    return root


def test_what_a_block_says_is_done(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    page = "<!-- edit a.py -->\n\n```diff\n-two\n+three\n```\n\n<!-- append a.py -->\n\n```python\nfour\n```\n"
    for block in blocks(page):
        apply(block, tmp_path)
    assert (tmp_path / "a.py").read_text() == "one\nthree\n\n\nfour\n"
    with pytest.raises(AssertionError, match="0 times"):
        apply(blocks(page)[0], tmp_path)
    assert without_instruction(blocks("```python\nlost\n```\n```sh\nshown\n```\n")) == ["lost\n"]
    assert "planted" in run([sys.executable, "-c", "raise SystemExit('planted')"], tmp_path)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_works_as_it_is_printed(tmp_path: Path, page: str) -> None:
    page_blocks = blocks((ROOT / page).read_text(encoding="utf-8"))
    assert without_instruction(page_blocks) == []
    root = copy(tmp_path)
    for block in page_blocks:
        if block.action and block.action != "run":
            apply(block, root)
    results = [run(command, root) for block in page_blocks if block.action == "run" for command in commands(block)]
    assert len(results) >= 3
    assert "\n".join(filter(None, results)) == ""
