"""The docs page: the OpenAPI document as HTML that can be read without a script and needs nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from crofter.edge import openapi
from crofter.edge.docsfields import Line, Reader
from crofter.edge.docstrying import SCRIPT, SEARCH, TOKEN, button, digest
from crofter.edge.openapi.examples import curl

STYLE = Path(__file__).with_name("docs.css").read_text(encoding="utf-8")
CSP = (
    f"default-src 'none'; style-src {digest(STYLE)}; script-src {digest(SCRIPT)}; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy that the page needs: its own style, its own script, and nothing but this server."""

Operation = dict[str, Any]

PAGED = "data[]."
"""How the fields of a page's items begin."""

CALLING = """<h2 id="calling">Calling it</h2>
<p>The examples take the address from <code>$CROFTER</code> and the token from <code>$TOKEN</code>.</p>
<pre tabindex="0" role="region" aria-label="Settings of the examples">export CROFTER=http://127.0.0.1:8420
export TOKEN=…</pre>
<p>Collections come in pages, chosen by <code>page</code> and <code>page_size</code>. The header <code>X-Filter</code>
holds a JSON object: fields with the values they must have, the operators <code>+and</code>, <code>+or</code>,
<code>+neq</code>, <code>+gt</code>, <code>+gte</code>, <code>+lt</code>, <code>+lte</code>, <code>+contains</code>, and
the order as <code>+order_by</code> and <code>+order</code>.</p>
<p>A failure says what is wrong, and with which field:
<code>{"errors": [{"reason": "Length must be 3-50 characters", "field": "label"}]}</code></p>"""
ADDRESS = "export CROFTER=http://127.0.0.1:8420"
"""The line of a page that names the server."""


def at(page: bytes, address: str) -> bytes:
    """Return the page with the server's own address in its examples."""
    return page.replace(ADDRESS.encode(), f"export CROFTER={escape(address)}".encode(), 1)


def page(document: dict[str, Any], *, trying: bool = False) -> bytes:
    """The whole page; ``trying`` adds a form to each operation that sends it to this server."""
    info = document["info"]
    operations = _by_tag(document)
    main = "\n".join(_section(document, tag, operations[tag["name"]], trying) for tag in document["tags"])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(info["title"])} {escape(info["version"])}: the interface</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the operations</a>
<header>
<h1>{escape(info["title"])}: the interface</h1>
<p>{escape(info["summary"])} Version {escape(info["version"])}, interface {escape(info["x-spec-version"])}.
For programs: <a href="/openapi.json">openapi.json</a>.</p>
{SEARCH}
{TOKEN if trying else ""}
</header>
<nav aria-label="Operations by tag">
{_contents(document, operations)}
</nav>
<main id="main" tabindex="-1">
<h2 id="about">About</h2>
{_paragraphs(info["description"])}
{CALLING}
{main}
</main>
<footer><p>Generated from the endpoints that this server runs.</p></footer>
<script>{SCRIPT}</script>
</body>
</html>
""".encode()


def _by_tag(document: dict[str, Any]) -> dict[str, list[tuple[str, str, Operation]]]:
    operations: dict[str, list[tuple[str, str, Operation]]] = {tag["name"]: [] for tag in document["tags"]}
    for method, path, operation in openapi.operations(document):
        operations[operation["tags"][0]].append((method, path, operation))
    return operations


def _paragraphs(text: str) -> str:
    return "\n".join(f"<p>{_words(part)}</p>" for part in text.split("\n\n"))


def _words(text: str) -> str:
    """A sentence with `code` or ``code`` in it."""
    marked = escape(text).replace("``", "`").split("`")
    return "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in enumerate(marked))


def _contents(document: dict[str, Any], operations: dict[str, list[tuple[str, str, Operation]]]) -> str:
    parts = []
    for tag in document["tags"]:
        name = tag["name"]
        links = "".join(
            f'<li><a href="#{escape(operation["operationId"])}"><span class="method">{method}</span> '
            f"<code>{escape(openapi.version_of(document, path) + path)}</code></a></li>"
            for method, path, operation in operations[name]
        )
        parts.append(
            f"<details><summary>{escape(_title(name))} ({len(operations[name])})</summary><ul>{links}</ul></details>"
        )
    return "\n".join(parts)


def _title(tag: str) -> str:
    return tag.replace("_", " ").capitalize()


def _section(
    document: dict[str, Any], tag: dict[str, str], operations: Iterable[tuple[str, str, Operation]], trying: bool
) -> str:
    name = escape(tag["name"])
    listed = "\n".join(_operation(document, *operation, trying) for operation in operations)
    return f"""<section aria-labelledby="tag-{name}">
<h2 id="tag-{name}">{escape(_title(tag["name"]))}</h2>
<p>{_words(tag["description"])}</p>
{listed}
</section>"""


def _operation(document: dict[str, Any], method: str, path: str, operation: Operation, trying: bool) -> str:
    reader = Reader(document)
    name = escape(operation["operationId"])
    old = ' class="old"' if operation.get("deprecated") else ""
    more = f"<p{old}>{_words(operation['description'])}</p>" if "description" in operation else ""
    version = openapi.version_of(document, path)
    parts = [
        f'<article aria-labelledby="{name}">',
        f'<h3 id="{name}"><span class="method">{method}</span> <code>{escape(version + path)}</code></h3>',
        f"<p>{_words(operation['summary'])}</p>{more}",
        _facts(operation),
        _parameters(reader, operation, name, document["paths"][path].get("parameters", ())),
        _body(reader, operation, name),
        _answer(reader, operation, name),
        f'<h4>Example</h4>\n<pre tabindex="0" role="region" aria-label="Example of {name}">'
        f"{escape(curl(document, method, path, version))}</pre>",
        button(document, method, path, version) if trying else "",
        "</article>",
    ]
    return "\n".join(part for part in parts if part)


def _facts(operation: Operation) -> str:
    facts = [
        ("Operation", f"<code>{escape(operation['operationId'])}</code>"),
        ("Scope", _scope(operation["x-scope"])),
        ("Restricted users", _grant(operation["x-grant"])),
    ]
    if operation["x-events"]:
        facts.append(("Events", ", ".join(f"<code>{escape(event)}</code>" for event in operation["x-events"])))
    if "x-rate-limit" in operation:
        facts.append(("Rate limit", f"its own: <code>{escape(operation['x-rate-limit'])}</code>"))
    if "x-rate-limit-weight" in operation:
        facts.append(("Rate limit", f"counts as {operation['x-rate-limit-weight']} requests"))
    refused = ", ".join(status for status in operation["responses"] if status >= "4")
    facts.append(("May be refused with", refused))
    return '<dl class="facts">' + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts) + "</dl>"


def _scope(scope: str) -> str:
    return {"none": "none: no token is needed", "*": "any token"}.get(scope, f"<code>{escape(scope)}</code>")


def _grant(grant: str) -> str:
    kind, _, level = grant.partition(":")
    if not level:
        known = {"any": "need nothing more", "unrestricted": "may not"}
        return known.get(grant, f"need the grant <code>{escape(grant)}</code>")
    return f"need <code>{escape(level)}</code> on the {escape(kind)}"


def _parameters(reader: Reader, operation: Operation, name: str, parts: Sequence[dict[str, Any]]) -> str:
    rows = []
    for listed in (*parts, *operation.get("parameters", ())):
        parameter = reader.find(listed)
        schema = parameter.get("schema") or {"type": "string"}
        words = f"{parameter.get('description', '')} {reader.notes(schema) if 'schema' in parameter else 'JSON.'}"
        place = f"{parameter['in']}, required" if parameter.get("required") else parameter["in"]
        rows.append((parameter["name"], place, reader.type(schema), words.strip()))
    if not rows:
        return ""
    return "<h4>Parameters</h4>\n" + _table(f"Parameters of {name}", ("Name", "In", "Type", "Notes"), rows)


def _body(reader: Reader, operation: Operation, name: str) -> str:
    if "requestBody" not in operation:
        return ""
    body = operation["requestBody"]
    kinds = ", ".join(body["content"])
    rows = [_row(line, "required" if line.required else "") for line in _fields(reader, body["content"])]
    note = escape(" ".join(filter(None, (f"As {kinds}.", body.get("description", "")))))
    table = _table(f"Fields of the body of {name}", ("Field", "Type", "Marks", "Notes"), rows) if rows else ""
    return f"<h4>Body</h4>\n<p>{note}</p>\n{table}"


def _answer(reader: Reader, operation: Operation, name: str) -> str:
    answer = next(response for status, response in operation["responses"].items() if status < "3")
    content = answer.get("content", {})
    lines = _fields(reader, content)
    if not lines:
        words = "An empty object." if "application/json" in content else ", ".join(content) or "Nothing."
        return f"<h4>Answer</h4>\n<p>{escape(words)}</p>"
    item = [line for line in lines if line.name.startswith(PAGED)]
    shown = [line._replace(name=line.name.removeprefix(PAGED)) for line in item or lines]
    rows = [_row(line, "filterable" if line.filterable else "") for line in shown]
    table = _table(f"Fields of the answer of {name}", ("Field", "Type", "Marks", "Notes"), rows)
    words = "A page; fields of each item" if item else "Fields"
    example = json.dumps(content["application/json"]["example"], indent=2, ensure_ascii=False)
    return f"""<h4>Answer</h4>
<details><summary>{words} ({len(rows)})</summary>\n{table}</details>
<details><summary>An answer</summary>
<pre tabindex="0" role="region" aria-label="An answer of {name}">{escape(example)}</pre></details>"""


def _fields(reader: Reader, content: dict[str, Any]) -> list[Line]:
    return [line for kind in content.values() for line in reader.lines(kind["schema"])]


def _row(line: Line, mark: str) -> tuple[str, str, str, str]:
    return line.name, line.type, f"{mark}, deprecated".strip(", ") if line.deprecated else mark, line.notes


def _table(caption: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    lines = "\n".join(
        f'<tr><th scope="row"><code>{escape(row[0])}</code></th>'
        + "".join(f"<td>{_words(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"""<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{lines}
</tbody>
</table></div>"""
