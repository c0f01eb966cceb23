"""Hostile requests: none is answered with a fault of ours, none hangs, each refusal has the error form."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crofter.edge.router import Router
from tests.cloud import ADMIN, Cloud
from tests.edge.answers import CLOSED, Raw, request, send

DIGITS = "9" * 5000
LABEL = '{"label":%s}'

BODIES: dict[str, str | bytes] = {
    "null": "null",
    "array": "[]",
    "string": '"x"',
    "true": "true",
    "trailing comma": '{"label":"abc",}',
    "single quotes": "{'a':1}",
    "comment": '{"a":1}//x',
    "not a number": '{"label":NaN}',
    "infinity": '{"label":Infinity}',
    "minus infinity": '{"label":-Infinity}',
    "doubled key": '{"label":"aaa","label":"bbb"}',
    "byte order mark": "\ufeff{}",
    "two documents": "{}{}",
    "cut off": '{"label":"ab',
    "deep arrays": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "unclosed arrays": "[" * 200_000,
    "escaped NUL": '{"label":"a\\u0000b"}',
    "raw NUL": '{"label":"a\0bc"}',
    "high surrogate": '{"label":"a\\ud800b"}',
    "low surrogate": '{"label":"\\udc00bc"}',
    "raw surrogate": b'{"label":"a\xed\xa0\x80b"}',
    "latin-1": b'{"label":"caf\xe9"}',
    "overlong UTF-8": b'{"label":"\xc0\xaf\xc0\xaf"}',
    "UTF-16": '{"label":"abc"}'.encode("utf-16"),
    "UTF-32": '{"label":"abc"}'.encode("utf-32"),
    "right to left": LABEL % '"abc\u202edef"',
    "zero width": LABEL % '"a\u200bc"',
    "combining": LABEL % ('"a' + "\u0301" * 60 + '"'),
    "emoji": LABEL % '"\U0001f600abc"',
    "newline at the end": LABEL % '"abc\\n"',
    "quote": LABEL % '"abc\' OR 1=1--"',
    "semicolon": LABEL % '"abc; DROP TABLE tag"',
    "markup": LABEL % '"<script>alert(1)</script>"',
    "template": LABEL % '"{{7*7}}${7*7}"',
    "path": LABEL % '"../../etc/passwd"',
    "label of a megabyte": LABEL % ('"' + "a" * 1_000_000 + '"'),
    "label list": LABEL % '["abc"]',
    "label object": LABEL % '{"$gt":""}',
    "label null": LABEL % "null",
    "label number": LABEL % "123",
    "prototype": '{"__proto__":{"x":1},"constructor":{},"label":"abcd"}',
    "many keys": "{" + ",".join(f'"k{number}":1' for number in range(70_000)) + "}",
    "many ids": '{"label":"abc","computes":[' + ",".join(["1"] * 100_000) + "]}",
    "too long": b" " * (1024 * 1024 + 1),
}
NUMBERS = {
    "zero": "0",
    "minus one": "-1",
    "31 bits": str(2**31),
    "53 bits": str(2**53),
    "63 bits": str(2**63 - 1),
    "64 bits": str(2**63),
    "65 bits": str(2**64),
    "400 zeros": "1" + "0" * 400,
    "5000 digits": DIGITS,
    "exponent": "1e5",
    "huge exponent": "1e400",
    "fraction": "1.5",
    "text": '"5"',
    "true": "true",
    "minus zero": "-0",
    "one point zero": "1.0",
}
IDS = {
    "zero": "0",
    "negative": "-1",
    "63 bits": str(2**63 - 1),
    "64 bits": str(2**63),
    "5000 digits": DIGITS,
    "fraction": "1.0",
    "exponent": "1e3",
    "plus": "+1",
    "space": "%201",
    "NUL": "1%00",
    "arabic digit": "%D9%A1",
    "full width digit": "%EF%BC%91",
    "superscript": "%C2%B2",
    "underscore": "1_0",
    "hexadecimal": "0x1",
    "semicolon": "1;x",
    "up": "../../etc/passwd",
    "encoded up": "%2e%2e%2f",
    "bad escape": "%zz",
    "half an escape": "%",
    "bad UTF-8": "%ff%fe",
    "long": "a" * 7000,
    "quote": "1'--",
    "raw latin-1": "\xe9",
}
QUERIES = {
    "page 0": "page=0",
    "page -1": "page=-1",
    "long page": "page=" + DIGITS,
    "64 bits": f"page={2**63}",
    "size 0": "page_size=0",
    "size 501": "page_size=501",
    "page twice": "page=1&page=2",
    "array": "page[]=1",
    "NUL": "page=%00",
    "bad UTF-8": "page=%ff",
    "arabic digit": "page=%D9%A1",
    "no value": "page",
    "empty": "page=",
    "only separators": "&&&===&;;",
    "many": "&".join(f"a{number}=1" for number in range(3000)),
    "after text": "after=abc",
    "after 64 bits": f"after={2**64}",
    "after negative": "after=-9223372036854775808",
    "wait text": "wait=abc",
    "wait negative": "wait=-1",
    "last page": f"page={2**31}&page_size=500",
}
FILTERS: dict[str, bytes] = {
    "no JSON": b"{",
    "array": b"[]",
    "text": b'"x"',
    "number": b"5",
    "unknown field": b'{"nothing": 1}',
    "unknown operator": b'{"id": {"+like": 1}}',
    "operator at the top": b'{"+gt": 5}',
    "wrong type": b'{"id": "x"}',
    "list": b'{"id": [1]}',
    "nested object": b'{"id": {"a": {"b": 1}}}',
    "64 bits": b'{"id": %d}' % 2**64,
    "5000 digits": b'{"id": %s}' % DIGITS.encode(),
    "not a number": b'{"id": NaN}',
    "deep": b'{"+or": [' * 3000 + b"{}" + b"]}" * 3000,
    "six deep": b'{"+and": [' * 6 + b"{}" + b"]}" * 6,
    "many terms": b'{"+or": [' + b",".join([b'{"id": 1}'] * 50) + b"]}",
    "order alone": b'{"+order": "desc"}',
    "odd order": b'{"+order_by": "id", "+order": "up"}',
    "order by unknown": b'{"+order_by": "message"}',
    "order by list": b'{"+order_by": ["id"]}',
    "NUL": b'{"action": "\\u0000"}',
    "surrogate": b'{"action": "\\ud800"}',
    "latin-1": b'{"action": "\xe9"}',
    "percent": b'{"action": {"+contains": "%_\\\\"}}',
    "bad moment": b'{"created": {"+gt": "yesterday"}}',
    "moment of year 0": b'{"created": {"+gt": "0000-00-00T00:00:00"}}',
    "moment of year 1": b'{"created": {"+gt": "0001-01-01T00:00:00"}}',
    "comparison of text": b'{"action": {"+gt": "a"}}',
    "contains number": b'{"id": {"+contains": 1}}',
    "or object": b'{"+or": {"id": 1}}',
    "empty or": b'{"+or": []}',
    "null": b'{"id": null}',
    "null compared": b'{"id": {"+gt": null}}',
    "true for a number": b'{"id": true}',
}
HEADERS: dict[str, bytes] = {
    "10 kB": b"X-A: " + b"a" * 10_000,
    "70 kB": b"X-A: " + b"a" * 70_000,
    "NUL": b"X-A: a\0b",
    "no colon": b"nonsense",
    "space before the colon": b"X-A : b",
    "folded": b"X-A: b\r\n c",
    "long key": b"Idempotency-Key: " + b"k" * 256,
    "latin-1 key": b"Idempotency-Key: \xff",
    "empty key": b"Idempotency-Key:",
    "second token": b"Authorization: Bearer other",
    "override": b"X-HTTP-Method-Override: DELETE",
    "range": b"Range: bytes=0-1",
    "expectation": b"Expect: nonsense",
    "upgrade": b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13",
    "upgrade to HTTP/2": b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
    "encoding": b"Accept-Encoding: gzip;q=NaN",
    "compressed": b"Content-Encoding: gzip",
}


def hostile() -> Iterator[tuple[str, bytes]]:
    for name, body in BODIES.items():
        yield f"body {name}", request("POST", "/v4/tags", token=ADMIN, body=body)
        yield f"action body {name}", request("POST", "/v4/account/events/1/read", token=ADMIN, body=body)
    for name, number in NUMBERS.items():
        body = f'{{"label":"abc","computes":[{number}]}}'
        yield f"number {name}", request("POST", "/v4/tags", token=ADMIN, body=body)
    for name, part in IDS.items():
        yield f"id {name}", request("GET", f"/v4/account/events/{part}", token=ADMIN)
        yield f"label {name}", request("DELETE", f"/v4/tags/{part}", token=ADMIN)
    for name, query in QUERIES.items():
        yield f"query {name}", request("GET", f"/v4/account/events?{query}", token=ADMIN)
    for name, header in FILTERS.items():
        yield f"filter {name}", request("GET", "/v4/account/events", token=ADMIN, headers=(b"X-Filter: " + header,))
    for name, header in HEADERS.items():
        yield f"header {name}", request("POST", "/v4/tags", token=ADMIN, body=LABEL % '"abc"', headers=(header,))
    yield "200 headers", request("GET", "/v4/tags", headers=tuple(b"X-%d: 1" % number for number in range(200)))
    for token in ("", " ", "\xff", "x" * 9000, "a b", "\\", "ccp_" + "0" * 36):
        yield (
            f"token {token[:4]!r}",
            request("GET", "/v4/tags", headers=(b"Authorization: Bearer " + token.encode("latin-1"),)),
        )


def framings() -> Iterator[tuple[str, bytes]]:
    """Requests that are wrong as HTTP already; the server may hang up on them."""
    chunked = b"Transfer-Encoding: chunked"
    post = lambda **more: request("POST", "/v4/tags", token=ADMIN, **more)  # noqa: E731
    yield "length and chunks", post(body="0\r\n\r\nGET /v4/tags HTTP/1.1\r\nHost: x\r\n\r\n", headers=(chunked,))
    yield "two lengths", post(body="{}", headers=(b"Content-Length: 5",))
    yield "negative length", post(length=-5)
    yield "huge length", post(length=10**12)
    yield "length of 30 digits", post(length="9" * 30)
    yield "length in words", post(length="two")
    yield "bad chunk", post(headers=(chunked,)) + b"zz\r\n"
    yield "huge chunk", post(headers=(chunked,)) + b"ffffffffffffffffff\r\n"
    yield "unknown coding", post(headers=(b"Transfer-Encoding: gzip",)) + b"x"
    yield "trace", request("TRACE", "/v4/tags", token=ADMIN)
    yield "connect", request("CONNECT", "x:1", token=ADMIN)
    yield "absurd method", request("A" * 300, "/v4/tags", token=ADMIN)
    yield "small method", request("get", "/v4/tags", token=ADMIN)
    yield "no host", b"GET /v4/tags HTTP/1.1\r\n\r\n"
    yield "two hosts", request("GET", "/v4/tags", headers=(b"Host: evil",))
    yield "HTTP/0.9", b"GET /\r\n\r\n"
    yield "HTTP/3.7", b"GET /v4/regions HTTP/3.7\r\nHost: x\r\n\r\n"
    yield "garbage", bytes(range(256)) * 20 + b"\r\n\r\n"
    yield "TLS", bytes.fromhex("16030100c8010000c40303") + b"\0" * 190
    yield "HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield "absolute", request("GET", "http://evil/v4/regions")
    yield "star", request("OPTIONS", "*")
    yield "backslashes", request("GET", "/v4\\tags")
    yield "space in the path", request("GET", "/v4/ta gs")
    yield "long path", request("GET", "/v4/" + "a/" * 20_000)


def fault_in(answer: Raw, *, may_close: bool) -> str | None:
    """Return the fault in the response to a hostile request, or None."""
    if answer.status == CLOSED:
        return None if may_close else "hung up"
    if answer.status >= 500:
        return f"{answer.status} {answer.body[:80]!r}"
    if answer.status < 400:
        return None
    try:
        body = answer.json()
        good = list(body) == ["errors"] and all(error["reason"] for error in body["errors"])
    except (ValueError, KeyError, TypeError):
        good = False
    return None if good else f"{answer.status} without the error form: {answer.body[:80]!r}"


def problems(cloud: Cloud) -> list[str]:
    faults = []
    for may_close, corpus in ((False, hostile()), (True, framings())):
        for name, content in corpus:
            fault = fault_in(send(cloud.url, content), may_close=may_close)
            if fault is not None:
                faults.append(f"{name}: {fault}")
    return faults


def test_the_corpus_is_as_large_as_promised() -> None:
    names = [name for corpus in (hostile(), framings()) for name, _ in corpus]
    assert len(names) == len(set(names))
    assert len(names) >= 115


def test_no_hostile_request_finds_a_fault(cloud: Cloud) -> None:
    assert problems(cloud) == []
    assert cloud.admin.get("/v4/regions").status_code == 200


def test_the_corpus_finds_a_planted_fault(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    match = Router.match

    def careless(self: Router, method: str, raw_path: bytes) -> object:
        if raw_path.startswith(b"/v4/account/events/1"):
            int(raw_path.split(b"/")[4])
        return match(self, method, raw_path)

    monkeypatch.setattr(Router, "match", careless)
    assert [problem.partition(":")[0] for problem in problems(cloud)] == [
        "id fraction",
        "id exponent",
        "id NUL",
        "id semicolon",
        "id quote",
    ]
