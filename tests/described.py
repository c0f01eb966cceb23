"""Requests that schemathesis generates from the OpenAPI document, and its findings in the responses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import requests
import schemathesis
from httpx2 import Response
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core import NOT_SET
from schemathesis.core.failures import FailureGroup
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.generation.case import Case
from schemathesis.generation.drivers import CoverageGenerator
from schemathesis.generation.feedback import NO_FEEDBACK
from schemathesis.generation.overrides import Override
from tools.life.record import restore
from tools.life.requests import Request, request_of
from tools.life.stock import Stock

from crofter.edge.endpoint import Endpoint
from crofter.edge.openapi.links import camel
from tests.matrix import CATALOGUE

AnyCase = Case[Any]
JSON = "application/json"
QUIET: dict[str, Any] = {"phases": [Phase.generate], "suppress_health_check": list(HealthCheck)}
POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE

RULES = {
    "it names what is not there, is somebody else's, or cannot be used for this": (
        r"\w+(\[\d+\])? is not valid.*|A valid plan type by that ID was not found|IP Address not found\."
        r"|Invalid Compute ID \d+|You do not have permission to access .*|\w+ is an invalid stackscript"
        r"|The name of the name server is not known|.* is not a scope|Must be the private address of .*"
        r"|Must be an address of this Compute, or any|.* in another region|VLANs are not available in this region"
        r"|Compute \d+ (has|is) .*|Only a disk with the filesystem .*|The disk must not be larger than .*"
        r"|A Compute cannot be cloned onto itself|sde to sdh are not available with fullvirt"
    ),
    "the object, or the account, is in another state": (
        r"(Compute|Volume|Image) busy\.|Only a pending transfer .*|Backups are (already|not) enabled .*"
        r"|.* is closed already|Backups (must be enabled|were cancelled) .*|(The|A) Compute .*|Compute is already .*"
        r"|The disk is .*|The configuration profile .*|No .* are left in this region\.|At most \d+ .*"
        r"|Managed service is already enabled .*|There is no secret to confirm, .*|.* already( has .*)?\.?"
        r"|This Compute (can|has|already has) .*|Storage volumes can only be resized up|Insufficient space: .*"
        r"|An account (needs at least one|can have at most) .*|A promotion is already active .*"
        r"|Must be [0-9.]+-[0-9.]+|The card has expired"
        r"|Must be in the future|Record conflict - .*"
    ),
    "a field is needed, or must be left out or be another, because of another one": (
        r"\w+ is required|You must specify an image|Either \w+ or \w+ is required|.* may only be set together with .*"
        r"|Must be none unless .*|You need at least one .*|Must have an IPv4 or an IPv6 network"
        r"|Only one of .* may be .*"
        r"|Cannot be combined with .*|Must not be given for .*|Only protocol https has a certificate"
        r"|SOA_Email required when .*|Must provide a region or a Compute ID|.* must not be set for .*"
        r"|Must be (0|empty) for .*|A (slave domain|CNAME record) .*|Must be letters, digits, - and _"
        r"|Must be 1-64 ASCII letters, numbers and dashes|Must be greater than \w+|Protocol tcp has no cookies"
    ),
    "conditions of a filter, and items of two lists, are counted together": (
        r"Could not apply filter|Must have at most 255 networks|Only one public interface is allowed"
    ),
    "it must be unique": (
        r"DNS zone already exists\.|Port must be unique .*|.* must be unique.*|.* is already in use.*|Username is taken"
    ),
    "it is a number, an address or a file with a check of its own": (
        r"Invalid credit card number|SSH Key key-type must be .*|Must be a valid .*|Must be an IP.* address.*"
        r"|Must be the name or address of a public name server: .*|The image cannot be decoded|Must be a date-time: .*"
        r"|Must be a file with one of the extensions .*|Must be at most 9 letters and digits, .*"
        r"|Must be a PEM .*|Must be ports and ranges of ports, .*|Password does not meet strength requirement"
    ),
    "signs may not stand twice in a row": r"Must not have two .* in a row",
}
"""Why a request may be refused that is as the document says, since a JSON schema cannot say it: the words of each."""
_RULES = re.compile("|".join(f"({words})" for words in RULES.values()))
ENDINGS = {"cancel_account", "delete_token", "delete_user", "update_user", "update_profile"}
"""After these all is put back as it was, so that no account ends and no token that is used here is revoked."""
HARMLESS = (
    "in query - object with unexpected properties",
    "query: violates `additionalProperties`",
    "header: violates `format` at /properties/Authorization",
)
"""Request faults that are accepted by design: unknown query parameters and fields are ignored, and the tests insert a
valid token.
"""
EVERYBODYS = CATALOGUE - {"image_id"} | {"label"}
"""Parts of a path that mean something to every account."""
SHARED = {"accept_entity_transfer", "accept_service_transfer", "view_entity_transfer", "view_service_transfer"}
"""Endpoints for which the token of a transfer is the permission."""


class Run:
    """Two accounts of one server that have everything, and what was found."""

    def __init__(self, stocks: list[Stock], document: dict[str, Any]) -> None:
        self.stocks = stocks
        self.findings: list[str] = []
        self.statuses: dict[str, Counter[int]] = {}
        """How often each operation has answered with which status."""
        self._known: dict[tuple[str, str], dict[str, Any]] = {}
        self._session = requests.Session()
        self._operations = {operation.definition.raw["operationId"]: operation for operation in _operations(document)}
        load_all_checks()
        self._once = [CHECKS.get_one("ignored_auth")]
        """Sends three more requests, and runs with the first request of each operation."""

    def real(self, request: Request, answer: Response) -> None:
        """Look at the answer to a request that was made in the life of the first account."""
        operation = self._operations[request.endpoint.name]
        parts = {camel(name): value for name, value in request.parts.items()}
        body = NOT_SET if request.body is None else request.body
        answer.request.read()
        case = operation.Case(path_parameters=parts, body=body, media_type=None if body is NOT_SET else JSON)
        self._look(case, answer, {"Authorization": answer.request.headers["Authorization"]})

    def stranger(self, request: Request) -> None:
        """The other account gets nothing of what the first one has just shown or changed."""
        endpoint = request.endpoint
        if endpoint.name in SHARED or endpoint.public or not set(endpoint.parts) - EVERYBODYS:
            return
        client = self.stocks[1].owner
        content = b"" if request.body is None else msgspec.json.encode(request.body)
        answer = client.request(endpoint.method, request.path, content=content, headers={"Content-Type": JSON})
        if answer.status_code not in (400, 403, 404, 415):
            self.findings.append(f"{endpoint.name}: another account is answered {answer.status_code}")

    def made_up(self, endpoint: Endpoint, mode: GenerationMode, count: int, *, fixed: bool = True) -> None:
        """Send so many requests that schemathesis makes up, for one account and the other in turn."""
        turn = iter(range(count * 100))

        @settings(max_examples=count, database=None, derandomize=fixed, deadline=None, **QUIET)
        @given(case=self._operations[endpoint.name].as_strategy(generation_mode=mode))
        def send(case: AnyCase) -> None:
            self._send(endpoint, case, self.stocks[next(turn) % len(self.stocks)])

        try:
            send()
        except Unsatisfiable:
            assert mode is NEGATIVE, endpoint.name  # there is nothing in it that could be wrong

    def boundaries(self, endpoint: Endpoint) -> None:
        """Send every combination of values at and beyond the bounds that the document states."""
        operation = self._operations[endpoint.name]
        made = CoverageGenerator(
            operation=operation,
            generation_modes=[POSITIVE, NEGATIVE],
            generation_config=operation.schema.config.generation_for(operation=operation, phase="coverage"),
            auth_storage=None,
            override=Override(),
            feedback=NO_FEEDBACK,
        )
        for number, case in enumerate(made):
            self._send(endpoint, case, self.stocks[number % len(self.stocks)])

    def _send(self, endpoint: Endpoint, case: AnyCase, stock: Stock) -> None:
        parts = self._parts(endpoint, stock)
        if parts and case.meta is not None and not case.meta.is_negative_at(ParameterLocation.PATH):
            case.path_parameters = parts
        if case.query and "wait" in case.query:
            case.query["wait"] = 0  # on a frozen clock no items would arrive
        base = f"{stock.cloud.url}/{'v4beta' if endpoint.beta else 'v4'}"
        answer = case.call(session=self._session, headers=_token(stock), base_url=base, timeout=60)
        self._look(case, answer, _token(stock), excluded=self._once)
        if endpoint.name in ENDINGS:
            restore(stock.cloud)

    def _parts(self, endpoint: Endpoint, stock: Stock) -> dict[str, Any]:
        """Return path parameters from the initial objects: later ones may have been deleted."""
        key = (endpoint.name, stock.username)
        if key not in self._known:
            other = self.stocks[1 - self.stocks.index(stock)]
            parts = request_of(endpoint, stock, other=other).parts
            self._known[key] = {camel(name): value for name, value in parts.items()}
        return dict(self._known[key])

    def _look(self, case: AnyCase, answer: Any, token: dict[str, str], excluded: Iterable[Any] = ()) -> None:
        name = case.operation.definition.raw["operationId"]
        self.statuses.setdefault(name, Counter())[answer.status_code] += 1
        if answer.status_code == 401 and "Authorization" in token:
            self.findings.append(f"{name}: the token is not good any more")
        if case.meta is not None and case.meta.generation.mode is POSITIVE and answer.status_code == 400:
            sent = answer.request.body or answer.request.headers.get("X-Filter")
            for reason in against_the_document(answer.json()):
                self.findings.append(f"{name}: {reason}, and the document allows it: {sent!r:.500}")
        if answer.headers.get("Preference-Applied") == "plan":  # which is described beside the answers
            excluded = [*excluded, CHECKS.get_one("response_schema_conformance")]
        try:
            case.validate_response(
                answer, headers=token, excluded_checks=list(excluded), transport_kwargs={"session": self._session}
            )
        except FailureGroup as group:
            self.findings += [
                f"{name}: {failure.title}: {failure.message}"[:800]
                for failure in group.exceptions
                if not harmless(failure.message)
            ]


def harmless(finding: str) -> bool:
    """True if an accepted request has only faults that are accepted by design."""
    faults = [fault.strip() for fault in finding.partition("Invalid component:")[2].splitlines() if fault.strip()]
    return bool(faults) and all(fault.endswith(HARMLESS) for fault in faults)


def against_the_document(refused: dict[str, Any]) -> list[str]:
    """The reasons of a refusal that are no rule beyond a schema."""
    return [
        f"{problem.get('field', '')} {problem['reason']}"
        for problem in refused["errors"]
        if not _RULES.fullmatch(problem["reason"])
    ]


def _token(stock: Stock) -> dict[str, str]:
    return {"Authorization": stock.owner.headers["Authorization"]}


def _operations(document: dict[str, Any]) -> Iterator[Any]:
    schema = schemathesis.openapi.from_dict(document)
    schema.config.generation.update(allow_x00=False)  # refused wherever it stands
    # A refusal of good data is looked at here, since most such rules cannot be told in a schema.
    accepted = schema.config.checks.positive_data_acceptance
    accepted.expected_statuses = [*accepted.expected_statuses, "400"]
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        yield result.ok()
