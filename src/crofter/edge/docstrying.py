"""Search on the docs page, and forms to try operations in sandbox mode."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

SCRIPT = Path(__file__).with_name("docs.js").read_text(encoding="utf-8")
JSON = "application/json"
UNSENT = ("text/event-stream", "application/pdf")
"""Answers that a page cannot show as text."""

SEARCH = """<form role="search" hidden>
<label for="search">Search the operations</label>
<input id="search" type="search" autocomplete="off" spellcheck="false">
<p id="found" role="status"></p>
</form>"""
TOKEN = """<form aria-label="Account to try with" hidden>
<label for="token">Token for trying operations</label>
<input id="token" autocomplete="off" spellcheck="false">
<button>Open a new account</button>
<p id="opened" role="status"></p>
</form>"""


def digest(text: str) -> str:
    """Return the Content-Security-Policy hash of an element with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def button(document: dict[str, Any], method: str, path: str, version: str) -> str:
    """Return the button that opens the form of an operation; empty if a form cannot send the operation."""
    operation = document["paths"][path][method.lower()]
    sent = operation.get("requestBody", {}).get("content", {})
    answered = [kind for response in operation["responses"].values() for kind in response.get("content", {})]
    if (sent and JSON not in sent) or any(kind in UNSENT for kind in answered):
        return ""
    for part in document["paths"][path].get("parameters", ()):
        path = path.replace(f"{{{part['name']}}}", quote(str(part["example"]), safe=""))
    name = escape(operation["operationId"])
    body = ""
    if sent:
        text = json.dumps(sent[JSON].get("example", {}), indent=2, ensure_ascii=False)
        body = f' data-body="{escape(text)}"'
    attributes = f'data-of="{name}" data-method="{method}" data-path="{escape(version + path)}"{body}'
    return f'<button type="button" hidden {attributes} aria-label="Try it: {name}">Try it</button>'
