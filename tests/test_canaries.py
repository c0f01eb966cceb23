"""Secrets go in and are found nowhere again: not in the database, a backup, a log, a trace, an answer."""

from __future__ import annotations

import base64
import secrets
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from crofter.registry import ENDPOINTS
from crofter.results import Stream
from tests.canaries import account_life, login_life
from tests.canaries.application import Application, opened
from tests.canaries.disguises import Canary, Seen, disguises, found
from tests.canaries.fields import TELLING, bodies, views
from tests.canaries.places import PostgresStore, SqliteStore, Store, complaint, output_of_commands
from tests.canaries.writers import WRITERS, written
from tests.databases import PostgresServer
from tests.login.visitor import Visitor
from tests.loopback import PATIENCE
from tests.served import TOKEN, Process, run, serving

OPEN = {
    "authorized_keys": "public keys",
    "authorized_users": "usernames",
    "promo_code": "printed on leaflets",
    "credentials": "ids",
    "checkout_token": "names a payment that its payer has to approve elsewhere",
    "payer_id": "who has approved a payment elsewhere",
    "cancel_url": "an address of the caller's own",
    "redirect_url": "an address of the caller's own",
    "remote_nameserver": "the address of a name server",
    "ssh_key": "a public key",
    "ssh_keys": "labels",
    "code": "a referral code, to be passed on",
    "TransferView.token": "the id of a transfer, for its sender to pass on",
    "authentication_type": "a word",
    "lish_auth_method": "a word",
    "last_authenticated": "a moment",
    "private": "addresses",
    "ips": "addresses",
    "vlan": "a label",
}
"""Fields that sound secret or are never shown, and what they are instead."""

INSERTED = (
    "longview_client account_user answered_request app_authorization audit authorization_code charge event login"
    " login_session managed_credential operation outbox password_link payment_method refresh_token token trusted_device"
).split()
"""Tables that are filled on the way of a secret; each in turn takes no more, to see what is logged then."""

ODD = {
    "account/oauth-clients/{client_id}/thumbnail": {404},
    "account/users/{username}/grants": {200, 204},  # only who is restricted has any
    "compute/instances/{compute_id}/stats": {400},
    "compute/instances/{compute_id}/stats/{year}/{month}": {400},  # none so soon
    "nodebalancers/{nodebalancer_id}/stats": {400},
    "profile/grants": {204},
}
"""Requests of the sweep with another status than 200."""
UNSEEN = {
    "networking/ipv6/ranges/{range}",
    "account/entity-transfers/{token}",
    "account/invoices/{invoice_id}",
    "account/invoices/{invoice_id}/csv",
    "account/invoices/{invoice_id}/items",
    "account/invoices/{invoice_id}/pdf",
    "account/service-transfers/{token}",
    "compute/instances/{compute_id}/backups/{backup_id}",
    "compute/instances/{compute_id}/ips/{address}",
    "managed/issues/{issue_id}",
    "managed/services/{service_id}",
    "support/tickets/{ticket_id}/attachments/{filename}",
}
"""Requests for single objects that do not exist in this life or are not in a list."""
OPEN_PATHS = ("/docs", "/openapi.json", "/version", "/health/ready", "/_sandbox", "/_sandbox/faults")


# ---- the list -------------------------------------------------------------------------------------------------------


def test_what_sounds_secret_is_declared_to_be() -> None:
    undeclared = {
        field.name
        for field in (*bodies(), *views())
        if TELLING.search(field.last)
        and field.can_hold_secret
        and not field.secret
        and not _open(field.name, field.last)
    }
    assert undeclared == set()


def test_what_is_sent_and_never_shown_is_declared_secret_or_known_to_be_open() -> None:
    shown = {field.last for field in views()}
    unseen = {
        field.name
        for field in bodies()
        if field.can_hold_secret and not field.secret and field.last not in shown and not _open(field.name, field.last)
    }
    assert unseen == set()


def _open(name: str, last: str) -> bool:
    return last in OPEN or name in OPEN


# ---- the life -------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        yield SqliteStore(tmp_path / "data")
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = server.empty()
    yield PostgresStore(server, name)
    server.drop(name)


def test_no_secret_is_found_anywhere(store: Store, tmp_path: Path) -> None:
    master, first = secrets.token_hex(32), secrets.token_hex(32)
    env = {"CROFTER_SECRET_KEY": master, "CROFTER_BOOTSTRAP_TOKEN": first, "CROFTER_LOG_LEVEL": "debug"}
    with serving(*store.flags, "--log", "json", env=env) as process:
        application = opened(process, store)
        owner = application.client(first)
        announced = len(process.output)
        witness = _witness(owner)
        grace = _live(application, owner, process)
        _in_the_settings(application, master, first)
        _goes_wrong(application)
        operator = _by_the_operator(application, env, witness.value)
        places = {"metrics": httpx2.get(f"{process.url}/metrics", timeout=PATIENCE).content, "commands": operator}
        _looks_at_everything(owner, grace)
        places["output"] = "\n".join(process.output[announced:]).encode()
        assert set(_secret_fields()) <= {canary.name for canary in application.canaries}
        places |= dict(store.meanwhile())
        places["log"] = process.log().encode()
    unlogged = [table for table in INSERTED if complaint(table).encode() not in places["log"]]
    assert unlogged == []  # there was something to leak into
    assert b"Traceback" in places["log"]
    places |= _mail_that_cannot_be_sent(application, store, env)
    places |= dict(store.places(tmp_path))
    assert _leaks(application, places) == []
    _proves_itself(witness, places, {"log", "commands", *store.files})


def _secret_fields() -> Iterator[str]:
    yield from (field.name for field in (*bodies(), *views()) if field.secret)


def _live(application: Application, owner: httpx2.Client, process: Process) -> httpx2.Client:
    """The life of an account, by its owner and by another of its users: her client."""

    def token_of(username: str) -> str:
        with application.client(None) as sandbox:
            token = str(sandbox.post("/_sandbox/tokens", json={"username": username}).json()["token"])
        return application.learn(f"token of {username}", token, shown=16)

    password = next(line.split()[-1] for line in process.output if "password" in line)
    application.known("first password", password)
    grace = login_life.live(application, owner, token_of)
    account_life.live(application, owner)
    return grace


def _in_the_settings(application: Application, master: str, first: str) -> None:
    application.canaries.append(Canary("master key", master, master, (bytes.fromhex(master),)))
    application.canaries.append(Canary("first token", first, first[16:]))


def _goes_wrong(application: Application) -> None:
    """Every request once more, while the database refuses one table after the other."""
    for table in INSERTED:
        application.store.run([application.store.break_inserts(table)])
        statuses = [send().status_code for send in application.again]
        application.store.run([application.store.restore_inserts(table)])
        assert 500 in statuses, table


def _by_the_operator(application: Application, env: dict[str, str], username: str) -> bytes:
    password = application.plain_canary("password set by the operator")
    ended = run("admin", "users", "set-password", username, *application.store.flags, env=env, typed=f"{password}\n")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.encode() + ended.stderr.encode() + output_of_commands(application.store, env)


def _looks_at_everything(*clients: httpx2.Client) -> None:
    """Read every list and its items."""
    statuses: dict[str, set[int]] = {}
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET" and endpoint.answers is not Stream:
            seen = statuses.setdefault(endpoint.path, set())
            seen |= {
                client.get(f"/v4beta/{path}").status_code
                for client in clients
                for path in _paths(client, endpoint.path)
            }
    assert {path for path, seen in statuses.items() if not seen} == UNSEEN
    assert {path: seen for path, seen in statuses.items() if seen and seen != {200}} == ODD
    assert {path: clients[0].get(path).status_code for path in OPEN_PATHS} == dict.fromkeys(OPEN_PATHS, 200)


def _paths(client: httpx2.Client, template: str) -> Iterator[str]:
    """The path, for as many as three of what its lists hold."""
    head, brace, tail = template.partition("/{")
    if not brace:
        yield template
        return
    name, _, rest = tail.partition("}")
    if name in ("year", "month"):
        yield from _paths(client, f"{head}/{getattr(datetime.now(UTC), name)}{rest}")
        return
    listed: list[dict[str, Any]] = client.get(f"/v4beta/{head}").json().get("data", [])
    for item in listed[:3]:
        yield from _paths(client, f"{head}/{item.get(name) or item['id']}{rest}")


def _mail_that_cannot_be_sent(application: Application, store: Store, env: dict[str, str]) -> dict[str, bytes]:
    """The password of a mail server that is not there."""
    password = application.plain_canary("password of the mail server")
    address = f"smtp://mailer:{password}@127.0.0.1:9"
    with serving(*store.flags, "--log", "json", env={**env, "CROFTER_MAIL": address}) as process:
        visitor = Visitor(Application(store, process.url))  # type: ignore[arg-type]
        visitor.goes_to("/login/reset")
        assert visitor.sends(username="grace").status_code == 200
        settled = httpx2.post(f"{process.url}/_sandbox/settle", json={"limit": 300}, timeout=60)
        assert settled.status_code == 200
        return {"log of the second start": process.log().encode(), "its output": "\n".join(process.output).encode()}


def _leaks(application: Application, places: dict[str, bytes]) -> list[Seen]:
    leaks = list(found(application.canaries, places))
    for canary in application.canaries:
        leaks += found([canary], {"answers": application.answers(canary)})
    return leaks


# ---- the harness ----------------------------------------------------------------------------------------------------


def _witness(owner: httpx2.Client) -> Canary:
    """Return a public name that is used wherever a secret could be."""
    name = "w" + secrets.token_hex(10)
    body = {"username": name, "email": f"{name}@example.com"}
    assert owner.post("/v4/account/users", json=body).status_code == 200
    assert owner.get(f"/v4/account/users/{name}").status_code == 200
    return Canary("witness", name, name)


def _proves_itself(witness: Canary, places: dict[str, bytes], everywhere: set[str]) -> None:
    """Check that the public name is found everywhere, and that every disguise is recognised in every place."""
    assert everywhere <= {seen.place for seen in found([witness], places) if seen.disguise == "as it is"}
    secret = Canary("planted", "", "AbCdEfGh0123456789zZ")
    assert list(found([secret], places)) == []
    for place, content in places.items():
        middle = len(content) // 2
        planted = {place: content[:middle] + written(secret.core) + content[middle:]}
        assert {seen.disguise for seen in found([secret], planted)} == set(WRITERS), place


@pytest.mark.parametrize("disguise", WRITERS)
def test_every_disguise_is_seen_through_by_its_name(disguise: str) -> None:
    core = "AbCdEfGh0123456789zZ"
    text = WRITERS[disguise](core)
    assert disguise in {seen.disguise for seen in found([Canary("one", "", core)], {"place": text})}
    assert list(found([Canary("another", "", core[:10] + "x" + core[11:])], {"place": text})) == []


def test_every_disguise_has_somebody_who_writes_it() -> None:
    assert set(WRITERS) == set(disguises("AbCdEfGh0123456789zZ"))


@pytest.mark.both
def test_a_leak_into_each_place_is_seen(store: Store, tmp_path: Path) -> None:
    """Use a secret as a public value: the label of a tag."""
    with serving(*store.flags, "--log", "json") as process:
        application = opened(process, store)
        owner = process.client()
        leaked = application.plain_canary("a secret in a label")
        assert owner.post("/v4/tags", json={"label": leaked}).status_code == 200
        assert (
            application.client(None, Authorization=str(owner.headers["authorization"])).get("/v4/tags").status_code
            == 200
        )
        assert owner.get(f"/v4/tags/{leaked}").status_code == 200
        places = dict(store.places(tmp_path))
        places |= {"log": process.log().encode(), "answers": application.answers(application.canaries[0])}
    seen = {leak.place for leak in found(application.canaries, places)}
    files = ("crofter.db-wal", "backup.db") if isinstance(store, SqliteStore) else ("base", "pg_wal")
    assert {"log", "answers", "backup, as text", *(f"file {name}" for name in files)} <= seen


def test_a_service_full_of_holes_is_seen_to_leak(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "data")
    holed = (sys.executable, "-m", "tests.canaries.sabotage")
    with serving(*store.flags, "--log", "json", program=holed) as process:
        application = opened(process, store)
        owner = application.client(TOKEN)
        secret = application.plain_canary("create_managed_credential password")
        body = {"label": "of the database", "password": secret}
        assert owner.post("/v4/account/settings/managed-enable", json={}).status_code == 200
        assert owner.post("/v4/managed/credentials", json=body).status_code == 200
        assert owner.post("/v4/managed/credentials", content=f'{{"password": "{secret}"').status_code == 400
        owner.get(f"/{secret}")
        places = dict(store.places(tmp_path))
        places["metrics"] = httpx2.get(f"{process.url}/metrics", timeout=PATIENCE).content
        places |= {"log": process.log().encode(), "answers": application.answers(application.canaries[0])}
    seen = {(leak.place, leak.disguise) for leak in found(application.canaries, places)}
    assert {
        ("file crofter.db-wal", "as it is"),
        ("log", "in hexadecimal"),
        ("answers", "backwards"),
        ("metrics", "as it is"),
    } <= seen


@pytest.mark.parametrize("shift", range(3))
def test_base64_is_seen_through_wherever_the_secret_begins(shift: int) -> None:
    canary = Canary("one", "", "AbCdEfGh0123456789~?")
    encoded = {"place": base64.urlsafe_b64encode(b"x" * shift + canary.core.encode() + b"yz")}
    assert [seen.disguise for seen in found([canary], encoded)] == [f"in base64, {shift} into it"]
    assert list(found([canary], {"place": b"nothing"})) == []
