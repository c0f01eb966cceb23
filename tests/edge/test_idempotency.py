"""``Idempotency-Key``: repeated requests take effect once."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.edge import idempotency
from tests.at_once import at_once
from tests.cloud import Cloud
from tests.observed import errors

DAY = 24 * 3600


def create(client: Client, label: str, key: str = "key") -> Response:
    return client.post("/v4/tags", json={"label": label}, headers={"Idempotency-Key": key})


def test_the_same_request_gets_the_same_bytes_and_is_done_once(alice: Client) -> None:
    first, again = create(alice, "web"), create(alice, "web")
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.content == first.content
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert alice.get("/v4/tags").json()["results"] == 1
    assert alice.get("/v4/account/events").json()["results"] == 1


def test_the_answer_outlives_what_it_was_about(alice: Client) -> None:
    first = create(alice, "web")
    alice.delete("/v4/tags/web")
    assert create(alice, "web").content == first.content
    assert alice.get("/v4/tags").json()["results"] == 0


def test_another_request_under_the_same_key_is_a_conflict(alice: Client) -> None:
    create(alice, "web")
    other = create(alice, "another")
    assert (other.status_code, errors(other)) == (
        409,
        [("Idempotency-Key", "Idempotency-Key was used with another request")],
    )
    assert alice.get("/v4/tags").json()["results"] == 1
    event = alice.get("/v4/account/events").json()["data"][0]["id"]
    elsewhere = alice.post(f"/v4/account/events/{event}/read", headers={"Idempotency-Key": "key"})
    assert elsewhere.status_code == 409


def test_to_another_token_a_key_is_as_new(cloud: Cloud, alice: Client) -> None:
    create(alice, "web")
    other = cloud.client(cloud.token("alice"))
    answer = create(other, "another")  # and it may be another request
    assert (answer.status_code, answer.headers.get("idempotent-replayed")) == (200, None)
    assert create(alice, "web").headers["idempotent-replayed"] == "true"


SECRETS: dict[str, tuple[str, dict[str, Any]]] = {
    "token": ("/v4/profile/tokens", {"label": "mine", "scopes": "account:read_write"}),
    "secret": ("/v4/account/oauth-clients/{client_id}/reset-secret", {}),
}


@pytest.mark.parametrize("field", SECRETS)
def test_a_weaker_token_is_not_shown_the_secret_of_a_stronger_one(cloud: Cloud, alice: Client, field: str) -> None:
    """Refuse other tokens: the stored response belongs to the token of the request."""
    client = {"label": "app", "redirect_uri": "https://example.com/back"}
    client_id = alice.post("/v4/account/oauth-clients", json=client).json()["id"]
    path, body = SECRETS[field]
    weaker = cloud.client(cloud.token("alice", "account:read_write"))
    request: dict[str, Any] = {"json": body, "headers": {"Idempotency-Key": "key"}}
    secret = alice.post(path.format(client_id=client_id), **request).json()[field]
    answer = weaker.post(path.format(client_id=client_id), **request)
    assert "idempotent-replayed" not in answer.headers
    assert secret not in answer.text
    assert cloud.client(None).post(path.format(client_id=client_id), **request).status_code == 401


def test_a_revoked_token_is_answered_nothing_again(cloud: Cloud, alice: Client) -> None:
    made = alice.post("/v4/profile/tokens", json={"label": "short lived"}).json()
    short_lived = cloud.client(made["token"])
    assert create(short_lived, "web").status_code == 200
    alice.delete(f"/v4/profile/tokens/{made['id']}")
    assert create(short_lived, "web").status_code == 401


def test_keys_are_each_users_own(alice: Client, mallory: Client) -> None:
    create(alice, "web")
    answer = create(mallory, "web")
    assert (answer.status_code, answer.headers.get("idempotent-replayed")) == (200, None)
    assert mallory.get("/v4/tags").json()["results"] == 1


def test_a_key_is_kept_for_a_day_of_service_time(cloud: Cloud, alice: Client) -> None:
    cloud.freeze()
    create(alice, "web")
    cloud.advance(DAY - 1)
    assert create(alice, "web").headers["idempotent-replayed"] == "true"
    cloud.advance(1)
    late = create(alice, "web")
    assert (late.status_code, errors(late)[0][0]) == (400, "label")
    assert create(alice, "other").status_code == 200  # and the key can be used anew


def test_a_refused_request_keeps_no_answer(alice: Client) -> None:
    assert create(alice, "x").status_code == 400
    assert create(alice, "good").status_code == 200


def test_only_post_looks_at_the_key(alice: Client) -> None:
    create(alice, "web")
    deleted = alice.delete("/v4/tags/web", headers={"Idempotency-Key": "key"})
    assert deleted.status_code == 200
    assert alice.get("/v4/tags", headers={"Idempotency-Key": "key"}).json()["results"] == 0


@pytest.mark.parametrize("key", ["", "k" * 256, "tab\tinside"])
def test_a_key_that_cannot_be_one_is_refused(alice: Client, key: str) -> None:
    answer = create(alice, "web", key)
    assert (answer.status_code, errors(answer)[0][0]) == (400, "Idempotency-Key")
    assert alice.get("/v4/tags").json()["results"] == 0


def race(alice: Client, rounds: int = 5, runners: int = 4) -> list[tuple[int, int]]:
    """Rounds in which the same request did not get one answer and one effect: (answers, effects)."""
    wrong = []
    for number in range(rounds):
        responses = at_once(*[partial(create, alice, f"tag {number}", f"key {number}")] * runners)
        answers = {(answer.status_code, answer.content) for answer in responses}
        events = alice.get("/v4/account/events", headers={"X-Filter": f'{{"entity.id": "tag {number}"}}'})
        if len(answers) != 1 or events.json()["results"] != 1:
            wrong.append((len(answers), events.json()["results"]))
    return wrong


def test_of_many_at_once_one_is_done_and_all_get_its_answer(alice: Client) -> None:
    assert race(alice) == []


def test_a_key_that_is_not_kept_would_be_seen(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "keep", lambda *_values: None)
    assert race(alice) != []


def test_what_is_kept_is_sealed(cloud: Cloud, alice: Client) -> None:
    create(alice, "canary-4711")
    with cloud.runtime.database.read() as db:
        rows = db.raw("SELECT answer, fingerprint FROM answered_request").fetchall()
    assert len(rows) == 1
    assert all(b"canary" not in bytes(value) for value in rows[0])


def test_a_secret_that_is_shown_once_is_shown_again_under_its_key_and_lies_nowhere(tmp_path: Path) -> None:
    cloud = Cloud(data=str(tmp_path))
    try:
        body, key = {"label": "mine"}, {"Idempotency-Key": "one"}
        first = cloud.admin.post("/v4/profile/tokens", json=body, headers=key)
        secret = first.json()["token"]
        assert cloud.admin.post("/v4/profile/tokens", json=body, headers=key).json()["token"] == secret
    finally:
        cloud.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert first.json()["label"].encode() in stored  # we look where it would be
    assert secret.encode() not in stored
