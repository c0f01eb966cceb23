"""The server does what the OpenAPI document says, and the document says what it does: all checks of schemathesis.

``make test`` looks at one real answer of every operation; ``make soak`` makes requests up, and sends every value at the
bounds that the document states.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.life import record

from crofter import __version__
from crofter.edge import openapi
from crofter.registry import ENDPOINTS
from tests.described import NEGATIVE, POSITIVE, Run, against_the_document, harmless

ROOT = Path(__file__).resolve().parent.parent
SENT = [endpoint for endpoint in ENDPOINTS if endpoint.name != record.STREAMED]
LISTS = [endpoint for endpoint in SENT if endpoint.listing is not None]
FEW = [endpoint for endpoint in SENT if endpoint.body or endpoint.query or endpoint in LISTS[::5]]
"""Operations for which a few requests are made up each time: those that take something. Lists all take the same."""
SHARES = 6
"""Pieces that a long run is divided into, so that several processes can take part."""


@pytest.fixture(scope="module")
def life() -> Iterator[Any]:
    with record.played() as played:
        yield played


def document(life: Any) -> dict[str, Any]:
    return openapi.document(ENDPOINTS, __version__, life[0].url)


def findings_text(run: Run) -> str:
    return "\n".join(sorted(set(run.findings)))


def test_every_answer_is_as_the_document_says(life: Any) -> None:
    """Real ones first: every operation is reached with success, and the examples are what the server answers."""
    cloud, stocks = life
    run = Run(stocks, document(life))
    kept = {}
    record.restore(cloud)
    for endpoint in sorted(SENT, key=lambda endpoint: (endpoint.writes, endpoint.name)):
        request, answer = record.done(endpoint, stocks)
        kept[endpoint.name] = record.kept(cloud, request, answer)
        run.real(request, answer)
        run.stranger(request)
    assert not run.findings, findings_text(run)
    text = record.render(dict(sorted(kept.items())))
    assert text == (ROOT / record.FILE).read_text(encoding="utf-8"), "run: make openapi"
    with stocks[0].owner.stream("GET", "/v4/account/events/stream") as stream:
        assert (stream.status_code, stream.headers["content-type"]) == (200, "text/event-stream")
    assert {name for name, seen in run.statuses.items() if not {200, 204} & seen.keys()} == set()
    assert len(run.statuses) == len(SENT)


def test_nothing_is_found_by_a_few_requests(life: Any) -> None:
    record.restore(life[0])
    run = Run(life[1], document(life))
    for endpoint in FEW:
        run.made_up(endpoint, POSITIVE, 1)
        run.made_up(endpoint, NEGATIVE, 1)
    assert not run.findings, findings_text(run)


def lying(life: Any, path: str, schema: str, field: str, **claims: Any) -> Run:
    """A run by a document with a false claim about a field, and with one path."""
    described = document(life)
    properties = described["components"]["schemas"][schema]["properties"]
    properties[field] = {**properties[field], **claims}
    return Run(life[1], {**described, "paths": {path: described["paths"][path]}})


def test_a_document_that_is_wrong_is_found_out(life: Any) -> None:
    endpoints = {endpoint.name: endpoint for endpoint in ENDPOINTS}
    wrong = lying(life, "/account", "AccountView", "balance", type="string")
    wrong.real(*record.done(endpoints["view_account"], life[1]))
    assert any("Response violates schema" in finding for finding in wrong.findings)
    loose = lying(life, "/tags", "TagCreate", "label", minLength=60, maxLength=70)
    loose.made_up(endpoints["create_tag"], POSITIVE, 1)
    assert any("Length must be" in finding for finding in loose.findings)
    tight = lying(life, "/tags", "TagCreate", "label", minLength=3, maxLength=4)
    tight.boundaries(endpoints["create_tag"])
    assert any("Invalid data should have been rejected" in finding for finding in tight.findings)


def test_a_refusal_is_a_rule_that_no_schema_can_say() -> None:
    def left(reason: str) -> list[str]:
        return against_the_document({"errors": [{"reason": reason, "field": "x"}]})

    assert left("Compute busy.") == left("region is not valid") == []
    assert left("Length must be 3-50 characters") == ["x Length must be 3-50 characters"]


def test_a_request_that_is_accepted_may_have_faults_that_do_no_harm() -> None:
    accepted = "Invalid data should have been rejected\nExpected: 400, 5xx\nInvalid component:"
    unknown, token = "query: violates `additionalProperties`", "header: violates `format` at /properties/Authorization"
    assert harmless(f"{accepted} in query - object with unexpected properties")
    assert harmless(f"{accepted}\n  - {unknown}\n  - {token}")
    assert not harmless(f"{accepted}\n  - {unknown}\n  - body: violates `maxLength` at /properties/label")
    assert not harmless("Response violates schema")


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES), ids=["first", "second", "third", "later-1", "later-2", "later-3"])
def test_nothing_is_found_by_many_requests(life: Any, share: int) -> None:
    run = Run(life[1], document(life))
    for endpoint in SENT[share::SHARES]:
        run.boundaries(endpoint)
        run.made_up(endpoint, POSITIVE, 15, fixed=False)
        run.made_up(endpoint, NEGATIVE, 8, fixed=False)
    assert not run.findings, findings_text(run)
