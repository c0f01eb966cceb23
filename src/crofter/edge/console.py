"""The console: files that a browser runs, and one page for every address inside of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import mimetypes
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from msgspec import Struct

from crofter import __version__
from crofter.config import Settings
from crofter.edge import mounts
from crofter.edge.problems import MethodNotAllowed
from crofter.errors import NotFound
from crofter.rng import Rng

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:;"
    " font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
FOR_EVER = (b"cache-control", b"public, max-age=31536000, immutable")
ASK_AGAIN = (b"cache-control", b"no-cache")
HTML = "text/html; charset=utf-8"
NOT_BUILT = (
    b"<!doctype html><html lang=en><title>crofter</title><h1>The console is not built</h1>"
    b"<p>Run <code>make console</code> in the folder of crofter, then start the server again. Until then everything"
    b' can be done through the interface: see <a href="/docs">its description</a>.</p></html>'
)
ICON = "favicon.svg"
_COMPRESSED = (".woff2", ".png")
"""File types that are already compressed."""


class File(Struct, frozen=True):
    body: bytes
    zipped: bytes
    content_type: str


def folder() -> Path | None:
    """Where the built files are: in the package, if it comes from a wheel; else in the checkout. None: nowhere."""
    package = Path(str(resources.files("crofter")))
    for place in (package / "console_files", package.parents[1] / "console" / "dist"):
        if (place / "index.html").is_file():
            return place
    return None


class Console:
    def __init__(self, settings: Settings, place: Path | None = None) -> None:
        self._place = place if place is not None else folder()
        # Separate and unseeded: a page view must not change the random numbers of a seeded server.
        self._rng = Rng()
        has_dialect = settings.dialect is not None
        facts = json.dumps({"version": __version__, "sandbox": settings.sandbox, "dialect": has_dialect})
        self._facts = escape(facts).encode()
        self._files = mounts.once(self._read)

    @property
    def built(self) -> bool:
        return self._place is not None

    async def __call__(self, scope: Any, _receive: Any, send: Any) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await mounts.refuse(send, MethodNotAllowed(["GET", "HEAD"]))
            return
        if not self.built:
            await mounts.reply(send, 200, NOT_BUILT, HTML, mounts.NOTHING_FROM_OUTSIDE)
            return
        files = await asyncio.get_running_loop().run_in_executor(None, self._files)
        path = scope["path"].removeprefix("/console").lstrip("/")
        file = files.get(path)
        if path.startswith("assets/"):
            # A page in place of a file of a former release would be run as a script by a tab that is still open.
            if file is None:
                await mounts.refuse(send, NotFound())
            else:
                await _send(scope, send, file, FOR_EVER)
        elif file is None or path == "index.html":
            await self._page(scope, send, files["index.html"])
        else:
            await _send(scope, send, file, ASK_AGAIN)

    async def icon(self, scope: Any, _receive: Any, send: Any) -> None:
        """Serve the icon that browsers request at the root, independent of the page."""
        files = await asyncio.get_running_loop().run_in_executor(None, self._files) if self.built else {}
        if ICON in files:
            await _send(scope, send, files[ICON], ASK_AGAIN)
        else:
            await mounts.refuse(send, NotFound())

    async def _page(self, scope: Any, send: Any, index: File) -> None:
        nonce = self._rng.hex(32)
        body = index.body.replace(b"%NONCE%", nonce.encode()).replace(b"%FACTS%", self._facts)
        page = File(body, gzip.compress(body, 1), HTML)
        await _send(scope, send, page, ASK_AGAIN, (b"content-security-policy", POLICY.format(nonce=nonce).encode()))

    def _read(self) -> dict[str, File]:
        """Everything, in memory: it is little, and compressed once."""
        assert self._place is not None
        paths = sorted(path for path in self._place.rglob("*") if path.is_file())
        return {path.relative_to(self._place).as_posix(): _file(path) for path in paths}


def mounts_of(console: Console) -> dict[str, Any]:
    """The console, its icon, and where the root leads people to."""
    return {"console": console, "favicon.ico": console.icon, "": _root("/console/" if console.built else "/docs")}


def _root(target: str) -> Any:
    async def app(scope: Any, _receive: Any, send: Any) -> None:
        accepted = dict(scope["headers"]).get(b"accept", b"")
        wants_json = b"json" in accepted and b"text/html" not in accepted
        if scope["path"] == "/" and scope["method"] in ("GET", "HEAD") and not wants_json:
            headers = ((b"location", target.encode()), (b"vary", b"Accept"), ASK_AGAIN)
            await mounts.reply(send, 302, b"", HTML, *headers)
        else:
            await mounts.refuse(send, NotFound())

    return app


def _file(path: Path) -> File:
    body = path.read_bytes()
    content_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    if content_type.startswith("text/") or content_type.endswith("javascript"):
        content_type += "; charset=utf-8"
    return File(body, body if path.suffix in _COMPRESSED else gzip.compress(body, 9), content_type)


async def _send(scope: Any, send: Any, file: File, *more: tuple[bytes, bytes]) -> None:
    body, headers = file.body, [*more, (b"vary", b"Accept-Encoding"), *HEADERS]
    if b"gzip" in dict(scope["headers"]).get(b"accept-encoding", b"") and len(file.zipped) < len(body):
        body = file.zipped
        headers.append((b"content-encoding", b"gzip"))
    await mounts.reply(send, 200, body if scope["method"] == "GET" else b"", file.content_type, *headers)
