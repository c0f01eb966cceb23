"""The documentation site: built without warnings, with search, and with every page."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def build(folder: Path, *, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Build the site. Without ``--quiet``, which would hide warnings from ``--strict`` too."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, cwd=root)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_of_the_documentation_is_on_the_site(site: Path) -> None:
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    expected = {page.with_name("index.html") if page.name == "README.html" else page for page in pages}
    assert [str(page) for page in sorted(expected) if not (site / page).is_file()] == []
    assert (site / "index.html").is_file()


def test_every_page_is_in_the_navigation(site: Path) -> None:
    linked = set(re.findall(r'class="md-nav__link[^"]*"|href="([^"#:]+\.html)"', (site / "index.html").read_text()))
    pages = {str(page.relative_to(site)) for page in site.rglob("*.html")} - {"404.html", "index.html"}
    assert sorted(pages - linked) == []


def test_the_search_finds_words_of_pages(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    texts = {entry["location"]: entry["text"] for entry in index["docs"]}
    assert any("Idempotency-Key" in text for location, text in texts.items() if location.startswith("errors.html"))


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"?(https?://[^\">\s]+)")
    outside = {address for page in site.rglob("*.html") for address in loaded.findall(page.read_text())}
    assert outside == set()


@pytest.mark.parametrize("link", ["sandbox.md#no-such-heading", "no-such-page.md"])
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, link: str) -> None:
    for folder in ("docs", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for file in [*ROOT.glob("*.md"), ROOT / "LICENSE", ROOT / "mkdocs.yml", ROOT / "tools" / "docs_site.py"]:
        place = tmp_path / file.relative_to(ROOT)
        place.parent.mkdir(exist_ok=True)
        shutil.copy(file, place)
    page = tmp_path / "docs" / "errors.md"
    page.write_text(f"{page.read_text()}\n[a broken link]({link})\n")
    refused = build(tmp_path / "site", root=tmp_path)
    assert (refused.returncode != 0, link.rpartition("#")[2] in refused.stderr) == (True, True)
