"""``Idempotency-Key`` on writes in two phases: sent many times at once, or interrupted, each is done once."""

from __future__ import annotations

import hashlib
import socket
import threading
import typing
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import dns.message
import pytest
from httpx2 import Client, Response

from crofter.db import metadata
from crofter.drivers.payments import Card, InDoubt, KeptCard, Outcome, Refused, SimulatedGateway, Staged
from crofter.edge import idempotency, repeats
from crofter.edge.endpoint import Endpoint
from crofter.edge.perform import Performer
from crofter.registry import ENDPOINTS
from crofter.results import TwoPhaseWrite
from tests.at_once import at_once
from tests.cloud import Cloud
from tests.drivers.dns_servers import stranger
from tests.observed import actions, errors
from tests.resources.money import CARD, books_are_in_order, instance, stand_at
from tests.resources.test_domain_import import answer as zone_answer

ACROSS = 8
METHODS = "/v4/account/payment-methods"
ADD = {"type": "credit_card", "is_default": False, "data": CARD}
PAYPAL = {"usd": "20.00", "redirect_url": "https://example.com/back", "cancel_url": "https://example.com/no"}
BODIES: dict[str, dict[str, Any]] = {
    "update_credit_card": CARD,
    "create_payment_method": ADD,
    "create_payment": {"usd": "20.00"},
    "stage_paypal_payment": PAYPAL,
    "execute_paypal_payment": {"payer_id": "GX7Y2"},
    "cancel_account": {"comments": "Bye."},
    "import_domain": {},
}
TWO_PHASE = [
    endpoint
    for endpoint in ENDPOINTS
    if typing.get_origin(typing.get_type_hints(endpoint.handler).get("return")) is TwoPhaseWrite
]
KEY = {"Idempotency-Key": "one"}
_staged: dict[str, str] = {}
UNDER_WAY = "A request with this Idempotency-Key is under way. Please try again in a moment."


class Slow(SimulatedGateway):
    """A gateway slow enough for simultaneous requests to meet."""

    def __init__(self, cloud: Cloud, seconds: float = 0.3) -> None:
        super().__init__(cloud.runtime.database)
        self._seconds = seconds
        self.asked: list[str] = []

    def keep(self, card: Card, key: str) -> KeptCard:
        self._take_time("keep")
        return super().keep(card, key)

    def charge(self, key: str, customer: str, token: str, cents: int) -> Outcome:
        self._take_time("charge")
        return super().charge(key, customer, token, cents)

    def stage(self, key: str, customer: str, cents: int, redirect_url: str, cancel_url: str) -> Staged:
        self._take_time("stage")
        return super().stage(key, customer, cents, redirect_url, cancel_url)

    def execute(self, key: str, customer: str, payment_id: str, payer_id: str, cents: int) -> Outcome:
        self._take_time("execute")
        return super().execute(key, customer, payment_id, payer_id, cents)

    def _take_time(self, what: str) -> None:
        self.asked.append(what)
        threading.Event().wait(self._seconds)


@contextmanager
def paying_by(cloud: Cloud, gateway: SimulatedGateway) -> Iterator[None]:
    before, cloud.runtime.payments = cloud.runtime.payments, gateway
    try:
        yield
    finally:
        cloud.runtime.payments = before


def customer(cloud: Cloud, username: str, count: int = 1) -> list[Client]:
    """Return connections with a token of a user with debt."""
    token = cloud.account(username=username)["token"]
    clients = [cloud.client(token) for _ in range(count)]
    instance(clients[0])
    staged(clients[0])
    return clients


def staged(client: Client) -> str:
    """A payment that was prepared with the client's token, and no other one from then on."""
    token = client.headers["authorization"]
    if token not in _staged:
        _staged[token] = client.post("/v4/account/payments/paypal", json=PAYPAL).json()["payment_id"]
    return _staged[token]


def zone(connection: socket.socket, query: dns.message.Message) -> None:
    """Serve any requested zone."""
    name = query.question[0].name.to_text()
    start = (name, 300, "IN", "SOA", f"ns.example.net. admin.{name} 7 10 20 30 40")
    connection.sendall(zone_answer(query, start, (name, 300, "IN", "NS", "ns.example.net."), start))


@pytest.fixture(scope="module", autouse=True)
def name_server() -> Iterator[None]:
    with stranger(zone) as address:
        BODIES["import_domain"]["remote_nameserver"] = address
        yield


def post(client: Client, endpoint: Endpoint, **headers: str) -> Response:
    body = BODIES[endpoint.name]
    if endpoint.name == "import_domain":  # a domain for each token, since names are unique
        body = body | {"domain": f"{hashlib.sha256(client.headers['authorization'].encode()).hexdigest()[:20]}.org"}
    if endpoint.name == "execute_paypal_payment":
        body = body | {"payment_id": staged(client)}
    return client.post(f"/v4/{endpoint.path}", json=body, headers={**KEY, **headers})


def sizes(cloud: Cloud) -> Counter[str]:
    """How many rows each table has, once nothing is left to do."""
    cloud.settle()
    with cloud.runtime.database.read() as db:
        names = [holder.name for holder in metadata.sorted_tables]
        return Counter({name: db.raw(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names})


def test_there_is_a_body_for_every_write_in_two_phases() -> None:
    assert {endpoint.name for endpoint in TWO_PHASE} == set(BODIES)


@pytest.mark.parametrize("endpoint", TWO_PHASE, ids=lambda endpoint: endpoint.name)
def test_sent_eight_times_at_once_it_is_done_once_and_all_get_the_same_bytes(cloud: Cloud, endpoint: Endpoint) -> None:
    """Send a request eight times with a key, and compare all tables with a single request."""
    stand_at(cloud, "2027-03-01T00:00:00")  # no month ends during the test
    (single,), many = customer(cloud, "single"), customer(cloud, "many", ACROSS)
    cloud.advance(7 * 3600)
    before = sizes(cloud)
    with paying_by(cloud, gateway := Slow(cloud)):
        assert post(single, endpoint).status_code == 200
        asked_once = list(gateway.asked)
        by_one = sizes(cloud)
        answers = at_once(*(partial(post, client, endpoint) for client in many))
    assert [answer.status_code for answer in answers] == [200] * ACROSS, [answer.text for answer in answers]
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert gateway.asked == asked_once * 2
    assert sizes(cloud) - by_one == by_one - before
    books_are_in_order(cloud)


@pytest.mark.parametrize("endpoint", TWO_PHASE, ids=lambda endpoint: endpoint.name)
def test_sent_again_it_is_answered_again_and_to_another_token_it_is_new(cloud: Cloud, endpoint: Endpoint) -> None:
    (alice,) = customer(cloud, "alice")
    other = cloud.client(cloud.token("alice"))
    first = post(alice, endpoint)
    after_one = sizes(cloud)
    again = post(alice, endpoint)
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    assert sizes(cloud) == after_one
    elsewhere = post(other, endpoint)
    assert elsewhere.status_code == (401 if endpoint.closes_account else 200)
    assert "idempotent-replayed" not in elsewhere.headers
    assert (sizes(cloud) == after_one) is endpoint.closes_account


# ---- interruptions --------------------------------------------------------------------------------------------------


def dies(*_values: Any) -> Any:
    raise RuntimeError("the process died here")


@pytest.mark.parametrize("endpoint", TWO_PHASE, ids=lambda endpoint: endpoint.name)
def test_a_request_over_which_the_server_died_does_not_keep_its_key_for_ever(
    cloud: Cloud, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse repeats until the claim expires, then do the request once."""
    monkeypatch.setattr(repeats, "PAUSES", (0.01,))
    (alice,) = customer(cloud, "alice")
    with monkeypatch.context() as between:
        between.setattr(Performer, "finish", dies)
        assert post(alice, endpoint).status_code == 500
    early = post(alice, endpoint)
    assert (early.status_code, errors(early)) == (409, [("Idempotency-Key", UNDER_WAY)])
    assert early.headers["retry-after"] == "1"
    other = alice.post(f"/v4/{endpoint.path}", json={}, headers=KEY)
    assert (other.status_code, errors(other)[0][1]) == (409, "Idempotency-Key was used with another request")
    monkeypatch.setattr(idempotency, "PATIENCE", 0)
    answers = [post(alice, endpoint) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert answers[0].content == answers[1].content
    assert "idempotent-replayed" not in answers[0].headers
    assert answers[1].headers["idempotent-replayed"] == "true"
    books_are_in_order(cloud)


class Stuck(SimulatedGateway):
    """A gateway whose first charge blocks until released."""

    def __init__(self, cloud: Cloud) -> None:
        super().__init__(cloud.runtime.database)
        self.reached, self.go_on = threading.Event(), threading.Event()

    def keep(self, card: Card, key: str) -> KeptCard:
        if not self.reached.is_set():
            self.reached.set()
            assert self.go_on.wait(30)
        return super().keep(card, key)


def test_a_slow_request_that_was_taken_over_gets_the_answer_of_the_other(
    cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "PATIENCE", 0)
    with paying_by(cloud, gateway := Stuck(cloud)):
        slow: list[Response] = []
        thread = threading.Thread(target=lambda: slow.append(alice.post(METHODS, json=ADD, headers=KEY)))
        thread.start()
        assert gateway.reached.wait(30)
        quick = alice.post(METHODS, json=ADD, headers=KEY)
        gateway.go_on.set()
        thread.join(30)
    assert (quick.status_code, slow[0].status_code) == (200, 200)
    assert slow[0].headers["idempotent-replayed"] == "true"
    assert actions(alice).count("payment_method_add") == 1
    assert alice.get(METHODS).json()["results"] == 2  # with the one that the account began with


class Refusing(SimulatedGateway):
    def __init__(self, cloud: Cloud, problem: Exception) -> None:
        super().__init__(cloud.runtime.database)
        self._problem = problem

    def keep(self, card: Card, key: str) -> KeptCard:
        raise self._problem


@pytest.mark.parametrize(
    ("problem", "status"), [(Refused("No."), 400), (InDoubt(), 503), (RuntimeError("a mistake"), 500)]
)
def test_what_is_refused_in_the_second_phase_lets_go_of_its_key(
    cloud: Cloud, alice: Client, problem: Exception, status: int
) -> None:
    """Only successes are kept: the same key may be sent again at once, with another body too."""
    with paying_by(cloud, Refusing(cloud, problem)):
        assert alice.post(METHODS, json=ADD, headers=KEY).status_code == status
    assert alice.post(METHODS, json={**ADD, "is_default": True}, headers=KEY).status_code == 200
    assert actions(alice).count("payment_method_add") == 1


def test_a_payment_that_is_declined_lets_go_of_its_key(cloud: Cloud, alice: Client) -> None:
    cloud.fault("card_declined", euuid=alice.get("/v4/account").json()["euuid"], times=2)
    answers = [alice.post("/v4/account/payments", json={"usd": "20.00"}, headers=KEY) for _ in range(2)]
    assert [(answer.status_code, errors(answer)) for answer in answers] == [
        (400, [(None, "The payment was declined.")])
    ] * 2
    with cloud.runtime.database.read() as db:
        assert db.raw("SELECT 1 FROM answered_request").fetchall() == []


def test_so_many_wait_and_no_more(cloud: Cloud, alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "MOST", 0)
    with monkeypatch.context() as between:
        between.setattr(Performer, "finish", dies)
        assert alice.post(METHODS, json=ADD, headers=KEY).status_code == 500
    answer = alice.post(METHODS, json=ADD, headers=KEY)
    assert (answer.status_code, answer.headers["retry-after"]) == (409, "1")


# ---- the end of an account ------------------------------------------------------------------------------------------


def test_the_token_that_closed_an_account_is_told_so_again_and_nothing_else(cloud: Cloud) -> None:
    """To the same request under the same key alone; every other use of the dead token is refused as ever."""
    cloud.freeze()
    (alice,) = customer(cloud, "alice")
    tag, body = {"label": "web"}, {"comments": "Bye."}
    assert alice.post("/v4/tags", json=tag, headers={"Idempotency-Key": "a tag"}).status_code == 200
    first = alice.post("/v4/account/cancel", json=body, headers=KEY)
    cloud.settle()
    cloud.advance(86_399)
    again = alice.post("/v4/account/cancel", json=body, headers=KEY)
    assert (again.status_code, again.content) == (200, first.content)
    for refused in (
        alice.post("/v4/tags", json=tag, headers={"Idempotency-Key": "a tag"}),
        alice.post("/v4/account/cancel", json=body, headers={"Idempotency-Key": "a tag"}),
        alice.post("/v4/account/cancel", json=body, headers={"Idempotency-Key": "another"}),
        alice.post("/v4/account/cancel", json=body, headers={"Idempotency-Key": "k" * 256}),
        alice.post("/v4/account/cancel", json={}, headers=KEY),
        alice.post("/v4/account/cancel", json=body),
        alice.get("/v4/account", headers=KEY),
        cloud.client("no-such-token").post("/v4/account/cancel", json=body, headers=KEY),
        cloud.client(None).post("/v4/account/cancel", json=body, headers=KEY),
    ):
        assert (refused.status_code, errors(refused)) == (401, [(None, "Invalid Token")])
    cloud.advance(1)
    assert alice.post("/v4/account/cancel", json=body, headers=KEY).status_code == 401
