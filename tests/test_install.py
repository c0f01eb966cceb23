"""Installation: the wheel, its contents, and operation without the extras."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from packaging.requirements import Requirement

from crofter.config import SettingsError, load
from crofter.errors import Unavailable
from crofter.resources.account.checks import known_countries
from crofter.resources.billing import documents
from tests.page_player import blocks
from tests.served import environment

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ABSENT = (
    "psycopg",
    "psycopg_binary",
    "typst",
    "pytest",
    "httpx2",
    "httpx",
    "hypothesis",
    "authlib",
    "pypdf",
)
PAGE = blocks("wheel.md", (ROOT / "docs" / "guides" / "wheel.md").read_text(encoding="utf-8"))
TEST = "def test_an_account(cloud_account, cloud_clock):\n    assert cloud_account.token and cloud_clock.freeze()\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source as it is, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (file,) = folder.glob("crofter-*.whl")
    return file


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    source = {name.removeprefix("src/") for name in listed.stdout.split("\n") if name and (ROOT / name).exists()}
    console = {name for name in names if name.startswith("crofter/console_files/")}
    statements = {"crofter/db/known_statements.bin"}
    assert {name for name in names if ".dist-info/" not in name} - console == source | statements
    built = ROOT / "console" / "dist"
    assert len(console) == sum(file.is_file() for file in built.rglob("*")), "the console is in it as it is built"
    for needed in (
        "crofter/client/commands.json",
        "crofter/resources/account/countries.json",
        "crofter/pytest_plugin.py",
    ):
        assert needed in names


def test_the_wheel_brings_the_command_the_plugin_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (folder,) = {name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        points, about = (archive.read(f"{folder}/{name}").decode() for name in ("entry_points.txt", "METADATA"))
        assert f"{folder}/licenses/LICENSE" in archive.namelist()
    assert "crofter = crofter.cli:main" in points
    assert "[pytest11]\ncrofter = crofter.pytest_plugin" in points
    assert re.findall(r"Provides-Extra: (\w+)", about) == ["libvirt", "pdf", "postgres"]
    # 1.25 MB of code and 0.8 MB of the console; packages or source maps of the console would be a multiple.
    assert wheel.stat().st_size < 2_100_000


def test_the_page_builds_the_wheel(wheel: Path, tmp_path: Path) -> None:
    make, build, export = _commands("test_the_page_builds_the_wheel")
    subprocess.run([*make.split(), "-n"], cwd=ROOT, capture_output=True, check=True)
    uv = shutil.which("uv") or str(ROOT / ".tools" / "bin" / "uv")
    offline = ["--offline", "--no-build-isolation", "--python", sys.executable, "--out-dir", str(tmp_path)]
    subprocess.run([uv, *build.split()[1:], *offline], cwd=ROOT, capture_output=True, check=True)
    with zipfile.ZipFile(tmp_path / wheel.name) as built, zipfile.ZipFile(wheel) as expected:
        assert sorted(built.namelist()) == sorted(expected.namelist())

    *words, output = export.split()
    assert words[0] == "uv"
    assert words.pop() == "--output-file"
    versions = tmp_path / Path(output).name
    subprocess.run([uv, *words[1:], "--offline", "--output-file", str(versions)], cwd=ROOT, check=True)
    pinned = {line.split("==")[0] for line in versions.read_text().splitlines() if re.match(r"[a-z]", line)}
    assert {Requirement(text).name for text in PROJECT["dependencies"]} <= pinned


def test_the_page_installs_the_wheel(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network: pip takes the wheel alone, and its dependencies are those of the tests."""
    (tmp_path / "dist").mkdir()
    shutil.copy(wheel, tmp_path / "dist")
    (tmp_path / "dist" / "versions.txt").touch()
    *steps, version = _commands("test_the_page_installs_the_wheel")
    dependencies = str(Path(msgspec.__file__).parents[1])
    code = "\n".join(["set -e", *steps, f"export PYTHONPATH={dependencies}", "which crofter", version])
    variables = environment(HOME=str(tmp_path), PIP_NO_INDEX="1", PIP_NO_DEPS="1")
    installed = subprocess.run(
        ["bash", "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    bin = tmp_path / "garden" / "bin"
    *_, command, answer = installed.stdout.splitlines() or ["", ""]
    assert (command, answer.split()[:2]) == (str(bin / "crofter"), ["crofter", PROJECT["version"]]), installed.stderr

    monkeypatch.setenv("PYTHONPATH", dependencies)
    with _served(bin) as (url, _):
        assert httpx2.get(f"{url}/v4/regions").status_code == 200


def _commands(test: str) -> list[str]:
    """The commands of the block that names the test."""
    (block,) = [block for block in PAGE if block.mark == f"test {test}"]
    return block.code.splitlines()


def test_a_server_starts_without_the_extras_and_without_our_tools() -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({ABSENT!r}))\n"
        "from crofter import assembly; from crofter.config import load\n"
        "assembly.build(load({'data': ':memory:', 'log': 'off'}, {})).runtime.database.close(); print('built')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert ran.stdout == "built\n", ran.stderr


def test_postgresql_without_its_extra_is_refused_in_a_line_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SettingsError, match=r"pip install 'crofter\[postgres\]'"):
        load({"database": "postgresql://nowhere/x"}, {})


def test_a_pdf_without_its_extra_is_refused_in_a_line_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(Unavailable, match=r"pip install 'crofter\[pdf\]'"):
        documents._made("{}")


def test_make_serve_installs_no_tools_and_leaves_those_that_are_there() -> None:
    output = subprocess.run(
        ["make", "-n", "-W", "uv.lock", "serve"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    # Two, if the console is not built.
    installs = [set(line.split()) for line in output.splitlines() if " sync " in line]
    assert installs
    for words in installs:
        assert {"--no-dev", "--inexact", "--locked", "pdf", "postgres"} <= words
        assert not {"--all-extras", "libvirt"} & words, "libvirt's module needs headers to be built"


def test_the_table_of_countries_is_whole_and_says_where_it_is_from() -> None:
    table = known_countries()
    assert set(table.sources) == set(msgspec.structs.asdict(table)) - {"sources"}
    assert len(table.countries.split()) == 249
    assert set(table.postal_codes) <= set(table.countries.split())
    for form in table.postal_codes.values():
        re.compile(form)


# ---- with a network -------------------------------------------------------------------------------------------------


@pytest.mark.soak
@pytest.mark.parametrize("versions", ["newest", "lowest"])
def test_the_wheel_in_a_bare_environment_gives_server_command_line_and_plugin(
    wheel: Path, tmp_path: Path, versions: str
) -> None:
    """With the newest versions of what it needs, and with the lowest that it says it works with."""
    bin = _environment(tmp_path / "venv", wheel, _floors(tmp_path) if versions == "lowest" else [])
    with _served(bin) as (url, token):
        asked = [str(bin / "crofter"), "regions", "list", "--url", url, "-o", "id"]
        listed = subprocess.run(
            asked, env=environment(CROFTER_TOKEN=token), capture_output=True, text=True, check=False
        )
        assert "us-east" in listed.stdout.split(), listed.stderr
        with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
            _spend_a_month(client)
            refused = client.get("/v4/account/invoices/1/pdf")
            assert (refused.status_code, "crofter[pdf]" in refused.text) == (503, True)
            assert client.get("/v4/account/invoices/1/csv").status_code == 200
    (tmp_path / "test_a.py").write_text(TEST)
    tested = subprocess.run(
        [str(bin / "pytest"), "-q", "test_a.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "1 passed" in tested.stdout, tested.stdout


def _spend_a_month(client: httpx2.Client) -> None:
    person = client.post("/_sandbox/accounts", json={"username": "ada"}).json()
    client.headers["Authorization"] = f"Bearer {person['token']}"
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/alpine3.15", "root_pass": "Vq7!mmpx-Tolp"}
    assert client.post("/v4/compute/instances", json=body).status_code == 200
    assert (
        client.put("/v4/account", json={"country": "DE", "zip": "50667", "phone": "+49 221 1234567"}).status_code == 200
    )
    client.post("/_sandbox/clock/advance", json={"seconds": 32 * 86400}).raise_for_status()


def _floors(folder: Path) -> list[str]:
    """A file for pip that holds each direct dependency at its lowest version."""
    lowest = [Requirement(text.replace(">=", "==")) for text in PROJECT["dependencies"]]
    lowest = [requirement for requirement in lowest if requirement.marker is None or requirement.marker.evaluate()]
    file = folder / "floors.txt"
    file.write_text("".join(f"{requirement.name}{requirement.specifier}\n" for requirement in lowest))
    return ["--constraint", str(file)]


def _environment(folder: Path, wheel: Path, more: list[str]) -> Path:
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(folder / "bin" / "pip"), "install", "--quiet", str(wheel), "pytest", *more]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "bin"


@contextmanager
def _served(bin: Path) -> Iterator[tuple[str, str]]:
    flags = ("--port", "0", "--data", ":memory:", "--log", "off", "--print-json", "--stop-with-stdin")
    command = [str(bin / "crofter"), "serve", *flags]
    with subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        announcement = json.loads(process.stdout.readline())
        yield announcement["url"], announcement["token"]
        process.stdin.close()
