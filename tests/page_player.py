"""Plays a page of the documentation: its blocks run in order, in a shell and a folder of the page's own.

A comment before a block says how the block is used. Without one, `sh` runs to its end, and a block of output is
compared with what the commands before it have printed.

    <!-- file NAME -->        write the block into a file
    <!-- background -->       start the commands and leave them running: a server, a stream
    <!-- exit CODE -->        the last command ends with this code
    <!-- source FILE -->      an excerpt: every line is in this file of the project
    <!-- test FUNCTION -->    a test of this name reads the page and checks the block
    <!-- not run: REASON -->  a block that cannot run here
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tools import node
from tools.ports import free_ports

from crofter import cli
from tests.served import environment, serving

ROOT = Path(__file__).resolve().parent.parent
SHELL = "sh"
OUTPUT = ("json", "text", "")
TOKEN = "first-steps"
PATIENCE = 60
_BLOCK = re.compile(r"^(?:<!-- ([^\n]+) -->\n+)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ADDRESS = re.compile(r"\b(127\.0\.0\.1|localhost):8420\b")
_MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    mark: str
    language: str
    code: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def reason(self) -> str | None:
        """The reason why the block is not run, or None."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else None


def blocks(page: str, text: str) -> list[Block]:
    listed = [
        Block(page, text.count("\n", 0, match.start(3)), match[1] or "", match[2], match[3])
        for match in _BLOCK.finditer(text)
    ]
    fences = len(re.findall(r"^ *(?:```|~~~)", text, re.MULTILINE))
    assert fences == 2 * len(listed), f"{page}: a fence is not read"
    return listed


def like_text(shown: str, real: str, *, begins: bool = False) -> bool:
    """Compare output: `…` stands for anything, moments and fractions are of another day, and lines may be wrapped.

    `begins`: more output may follow.
    """
    pieces = re.split(rf"(…|{_MOMENT}|\d+\.\d+(?!\.)|\s+)", shown.strip())
    wanted = "".join(_pattern(piece) for piece in pieces)
    match = re.match(wanted, real.strip(), re.DOTALL) if begins else re.fullmatch(wanted, real.strip(), re.DOTALL)
    return match is not None


def _pattern(piece: str) -> str:
    if piece == "…":
        return ".*?"
    if not piece.strip():
        return piece and (r"\s*" if "\n" in piece else r"\s+")
    return next((like for like in (_MOMENT, r"\d+(\.\d+)?") if re.fullmatch(like, piece)), re.escape(piece))


def values(text: str) -> list[Any]:
    """The JSON values of an output, one after the other."""
    parsed, decoder, rest = [], json.JSONDecoder(), text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        parsed.append(value)
        rest = rest[end:].lstrip()
    return parsed


EXACT = {"id", "operations", "pages", "percent_complete", "results"}
"""Numbers that are the same on each day."""


def other_counts(shown: Any, real: Any, name: str = "") -> Iterator[str]:
    """The numbers of an answer that are printed wrongly; lists are compared where all items are shown."""
    if isinstance(shown, dict) and isinstance(real, dict):
        for key in shown.keys() & real.keys():
            yield from other_counts(shown[key], real[key], key)
    elif isinstance(shown, list) and isinstance(real, list) and len(shown) == len(real):
        for pair in zip(shown, real, strict=True):
            yield from other_counts(*pair, name)
    elif name in EXACT and shown != real and "…" not in str(shown):
        yield f"{name} is {real!r}, not {shown!r}"


class Shell:
    """A shell that keeps its variables between the blocks of a page."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self._folder, self._variables = folder, variables
        self._errors = folder / ".stderr"
        self._number = 0
        self._background: list[subprocess.Popen[bytes]] = []
        self._process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors.open("w"),
            text=True,
            start_new_session=True,
        )
        self._type("set -E -o pipefail; shopt -s expand_aliases; trap 'failed=\"${failed:-$? $BASH_COMMAND}\"' ERR")

    def _type(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def run(self, code: str, status: int = 0) -> str:
        """Run commands to their end and return what they have printed; `status` is the code of the last one."""
        self._number += 1
        file, end = self._folder / f".block-{self._number}", f"--end-{self._number}--"
        file.write_text(code, encoding="utf-8")
        self._type(f'failed=; source {file.name} </dev/null; ended=$?; echo; echo {end} $ended "$failed"')
        lines: list[str] = []
        assert self._process.stdout is not None
        watchdog = threading.Timer(2 * PATIENCE, os.killpg, (self._process.pid, signal.SIGKILL))
        watchdog.start()
        for line in self._process.stdout:
            if line.startswith(end):
                words = line.split(maxsplit=2)
                watchdog.cancel()
                failed = int(words[1]) != status or (len(words) > 2 and not status)
                assert not failed, f"{code}{''.join(lines)}{self._errors.read_text()[-3000:]}{line}"
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"{code}did not end:\n{''.join(lines)}{self._errors.read_text()[-3000:]}")

    def start(self, code: str) -> Path:
        """Start commands in the background, with the shell's variables; their output goes into the returned file."""
        self._number += 1
        file, output = self._folder / f".block-{self._number}", self._folder / f".output-{self._number}"
        self.run("declare -p | grep -v 'declare -[a-z]*[rAa]' > .variables 2>/dev/null\n")
        file.write_text(f"source .variables 2>/dev/null\n{code}", encoding="utf-8")
        with output.open("wb") as out:
            self._background.append(
                subprocess.Popen(
                    ["bash", "--norc", "--noprofile", file.name],
                    cwd=self._folder,
                    env=self._variables,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
        return output

    def close(self) -> None:
        processes: list[subprocess.Popen[Any]] = [*self._background, self._process]
        for process in processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


class Player:
    """Runs the blocks of a page and counts them."""

    def __init__(self, shell: Shell, folder: Path, address: str) -> None:
        self._shell, self._folder, self._address = shell, folder, address
        self._output: str | None = None
        self._growing: Path | None = None
        self.run: list[Block] = []

    def play(self, block: Block) -> None:
        verb, _, rest = block.mark.partition(" ")
        code = _ADDRESS.sub(self._address, block.code)
        if verb == "file":
            file = self._folder / rest
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(code, encoding="utf-8")
        elif verb == "source":
            source = (ROOT / rest).read_text(encoding="utf-8")
            missing = [line for line in block.code.splitlines() if line.strip() and line not in source]
            assert not missing, f"{block.place}: not in {rest}: {missing}"
        elif block.language == SHELL and verb in ("", "exit", "background"):
            self._run(block, code, verb, rest)
        elif block.language in OUTPUT and not block.mark:
            self._compare(block, code)
        else:
            raise AssertionError(f"{block.place}: this block is not run: {block.mark or block.language or 'no mark'}")
        self.run.append(block)

    def _run(self, block: Block, code: str, verb: str, rest: str) -> None:
        if verb == "background":
            self._growing = self._shell.start(code)
            if re.search(r"crofter serve|make serve", code):
                self._wait(block, f"{self._address}", lambda text: "serves on" in text or '"url"' in text)
        else:
            self._output, self._growing = self._shell.run(code, int(rest or 0)), None

    def _compare(self, block: Block, shown: str) -> None:
        if self._growing is not None:
            if block.language == "json":
                self._output, self._growing = self._growing.read_text(encoding="utf-8"), None
            else:
                self._wait(block, shown, lambda text: like_text(shown, text, begins=True))
                return
        assert self._output is not None, f"{block.place}: nothing was run before this output"
        real, self._output = self._output, None
        if block.language == "json":
            from tests.test_docs import unlike

            wanted, answers = values(shown), values(real)
            assert len(wanted) == len(answers), f"{block.place}: {len(answers)} answers:\n{real}"
            pairs = list(zip(wanted, answers, strict=True))
            wrong = [line for pair in pairs for line in (*unlike(*pair), *other_counts(*pair))]
            assert not wrong, f"{block.place}: {wrong}\n{real}"
        else:
            assert like_text(shown, real), f"{block.place}: printed was:\n{real}"

    def _wait(self, block: Block, what: str, condition: Any) -> None:
        assert self._growing is not None
        deadline = time.monotonic() + PATIENCE
        while not condition(text := self._growing.read_text(encoding="utf-8")):
            assert time.monotonic() < deadline, f"{block.place}: {what} was not printed:\n{text}"
            time.sleep(0.05)


def serves(listed: list[Block]) -> bool:
    """True if the page starts a server itself."""
    return any(
        block.mark == "background" and re.search(r"(crofter|make) serve(?!.*--port 0)", block.code) for block in listed
    )


def commands(block: Block) -> Iterator[list[str]]:
    """The commands of crofter in a block that is not run, to be compared with those that exist."""
    for line in block.code.replace("\\\n", " ").splitlines():
        line = re.sub(r"\s+#.*$", "", line)
        match = re.match(r"(?:sudo )?(?:\S*/)?crofter (admin .*|serve\b.*|work\b.*|config .*|migrate\b.*)", line)
        if match and "…" not in line:
            yield shlex.split(re.sub(r"\$\(.*?\)", "x", match[1]))


def unknown(block: Block) -> list[str]:
    """The commands of a block that the command line refuses."""
    wrong = []
    for words in commands(block):
        try:
            cli.parser().parse_args(words)
        except SystemExit:
            wrong.append(shlex.join(words))
    return wrong


@contextmanager
def playing(folder: Path, listed: list[Block]) -> Iterator[Player]:
    """A player in an empty folder; with a server, unless the page starts one."""
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (folder / "Makefile").write_text("serve:\n\t@crofter serve\n")  # the last command of the project's own
    more = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / ".config"), "NO_PROXY": "*", "LC_ALL": "C.UTF-8"}
    more["PATH"] = f"{Path(sys.executable).parent}:{node.environment()['PATH']}"
    with ExitStack() as exits:
        if serves(listed):
            port = str(free_ports())
            more["CROFTER_PORT"] = port
            address = f"127.0.0.1:{port}"
        else:
            server = exits.enter_context(serving("--data", ":memory:", env={"CROFTER_BOOTSTRAP_TOKEN": TOKEN}))
            address = server.url.removeprefix("http://")
        more["CROFTER_URL"] = f"http://{address}"
        shell = Shell(folder, environment(**more))
        exits.callback(shell.close)
        yield Player(shell, folder, address)
