"""The commands: one for each operation, each with a help, and none that needs the server's code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crofter.client import flags, tree
from crofter.registry import ENDPOINTS
from tests import served
from tests.client.conftest import Crofter

COMMANDS = tree.load()
REMOTE = """
import sys
from crofter import cli
try:
    cli.main({words!r})
except SystemExit:
    pass
mine = {{name for name in sys.modules if name.split(".")[0] == "crofter"}}
print(sorted(name for name in mine if not name.startswith(("crofter.cli", "crofter.client")) and name != "crofter"))
print(sorted({{name.split(".")[0] for name in sys.modules}} - sys.stdlib_module_names - {{"crofter", "__main__"}}))
"""


def test_every_endpoint_has_its_command_and_every_command_its_endpoint() -> None:
    operations = [command["operation"] for command in COMMANDS if "operation" in command]
    assert sorted(operations) == sorted(endpoint.name for endpoint in ENDPOINTS)


def test_no_command_hides_another() -> None:
    words = [tuple(command["words"]) for command in COMMANDS]
    assert len(set(words)) == len(words)
    assert [
        shorter for shorter in words for other in words if shorter != other and other[: len(shorter)] == shorter
    ] == []
    for command in COMMANDS:
        assert tree.find(COMMANDS, [*command["words"], "1"]) == (command["words"], command)


def test_the_groups_that_people_look_for_are_there() -> None:
    groups = set(tree.below(COMMANDS, []))
    wanted = "instances disks configs backups ips events invoices tickets managed tags users tokens oauth regions"
    assert set(wanted.split()) <= groups
    usual = {"list", "view", "create", "update", "delete"}
    assert usual | {"boot", "reboot", "shutdown", "resize", "rebuild"} <= set(tree.below(COMMANDS, ["instances"]))
    assert usual <= set(tree.below(COMMANDS, ["disks"]))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command["words"]))
def test_every_command_has_a_help(command: tree.Command) -> None:
    """Render every help text: argparse detects wrong percent signs and duplicate flags only then."""
    shown = flags.parser_of(command).format_help()
    assert " ".join(command["words"]) in shown
    for field in command.get("fields", ()):
        assert flags.flag_of(field["name"]) in shown


def test_help_shows_groups_commands_and_flags(anybody: Crofter) -> None:
    assert {"serve", "admin", "login", "instances", "api", "completion"} <= set(anybody("--help").out.split())
    assert "reset-secret CLIENT" in anybody("oauth", "--help").out
    assert "services create" in anybody("managed", "--help").out
    shown = anybody("instances", "create", "--help").out
    assert "--root-pass" in shown
    assert "--no-booted" in shown
    assert anybody("instances").code == 2


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("instnces", "list"), "crofter instances?"),
        (("instances", "lst"), "crofter instances list?"),
        (("managed", "service"), "crofter managed services?"),
        (("serv",), "crofter serve?"),
    ],
)
def test_of_an_unknown_command_the_nearest_is_suggested(anybody: Crofter, words: tuple[str, ...], meant: str) -> None:
    result = anybody(*words)
    assert result.code == 2
    assert result.err.rstrip().endswith(f"did you mean {meant}")


@pytest.mark.parametrize("words", [["--help"], ["disks", "create", "--help"], ["regions", "list"], ["api", "GET", "/"]])
def test_the_client_loads_nothing_of_the_server(words: list[str]) -> None:
    """A call goes to a server elsewhere, so it needs neither this one's code nor what that depends on."""
    done = subprocess.run(
        [sys.executable, "-c", REMOTE.format(words=[*words])],
        env=served.environment(CROFTER_URL="http://127.0.0.1:9"),
        capture_output=True,
        text=True,
        check=True,
    )
    ours, others = done.stdout.splitlines()[-2:]
    assert ours == "[]"
    assert not {"msgspec", "sqlalchemy", "starlette", "uvicorn", "httpx2"} & set(json.loads(others.replace("'", '"')))


# ---- completion -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "some"),
    [
        (["inst"], {"instances"}),
        (["ser"], {"serve", "service-transfers"}),
        (["instances", "re"], {"reboot", "rebuild", "rescue", "resize"}),
        (["managed", "services", "en"], {"enable"}),
        (["instances", "create", "--ro"], {"--root-pass"}),
        (["instances", "list", "-o", "j"], {"json"}),
        (["managed", "services", "create", "--service-type", ""], {"tcp", "url"}),
        (["nothing", ""], set()),
        (["admin", "op"], {"operations"}),
        (["admin", "operations", ""], {"list", "retry", "cancel"}),
        (["admin", "operations", "list", "--st"], {"--state"}),
        (["admin", "operations", "list", "--state", "w"], {"waiting"}),
        (["admin", "backup", "--data", ""], set()),
        (["serve", "--log", ""], {"auto", "json", "pretty", "off"}),
        (["serve", "--metrics"], {"--metrics-port"}),
    ],
)
def test_words_are_completed(anybody: Crofter, typed: list[str], some: set[str]) -> None:
    assert set(anybody("__complete", *typed).out.split()) == some


def test_bash_completes(tmp_path: Path) -> None:
    """The script as bash runs it, with the program on the path."""
    script = tmp_path / "crofter.bash"
    script.write_text(served.run("completion", "bash").stdout)
    asked = f"""
    PATH={Path(served.CROFTER).parent}:$PATH
    source {script}
    COMP_WORDS=(crofter instances sh) COMP_CWORD=2
    _crofter
    echo "${{COMPREPLY[@]}}"
    """
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "-c", asked], env=served.environment(), capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "shutdown\n"


def test_zsh_has_a_script_and_other_shells_are_refused_in_words(anybody: Crofter) -> None:
    assert anybody("completion", "zsh").out.startswith("#compdef crofter")
    assert anybody("completion", "fish").code == 2
