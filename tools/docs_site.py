"""Hooks of the documentation site: pages at the root of the project, guides and decisions, and links between them."""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]

# Pages outside of `docs`, by their place on the site.
ROOT_PAGES = {
    "index.md": "README.md",
    **{name: name for name in ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "COVERAGE.md", "SECURITY.md")},
}

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace the folders of the navigation by their pages."""
    config.nav = _expanded(config.nav or [])
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages at the root of the project."""
    for place, name in ROOT_PAGES.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Point links to the pages of the site. Files of the project without a page lose the link."""
    place = page.file.src_uri
    source = ROOT_PAGES.get(place) or posixpath.join("docs", place)
    pieces = [piece if is_code else _relinked(piece, source, place, files) for is_code, piece in _parts(markdown)]
    return "".join(pieces)


def _expanded(nav: list[Any]) -> list[Any]:
    pages: list[Any] = []
    for entry in nav:
        ((title, target),) = entry.items()
        if isinstance(target, list):
            pages.append({title: _expanded(target)})
        elif target.endswith("/"):
            folder = sorted(
                (ROOT / "docs" / target).glob("*.md"), key=lambda file: (file.name != "README.md", file.name)
            )
            if folder:
                pages.append({title: [f"{target}{file.name}" for file in folder]})
        else:
            pages.append(entry)
    return pages


def _parts(markdown: str) -> list[tuple[bool, str]]:
    parts, end = [], 0
    for block in _CODE.finditer(markdown):
        parts += [(False, markdown[end : block.start()]), (True, block.group())]
        end = block.end()
    return [*parts, (False, markdown[end:])]


def _relinked(text: str, source: str, place: str, files: Files) -> str:
    def relink(match: re.Match[str]) -> str:
        words, target = match.groups()
        path, hash_sign, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:|/", path):
            return match.group()
        named = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        there = next((at for at, name in ROOT_PAGES.items() if name == named), named.removeprefix("docs/"))
        if files.get_file_from_path(there) is None and (ROOT / named).exists():
            return words
        return f"[{words}]({posixpath.relpath(there, posixpath.dirname(place) or '.')}{hash_sign}{anchor})"

    return _LINK.sub(relink, text)
