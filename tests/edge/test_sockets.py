"""Web sockets within bounds: how many, how long, how much; and what is not one."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator

import pytest
from httpx2 import Client
from wsproto.events import Ping

from crofter.edge import sockets
from crofter.edge.protocol import BoundedProtocol
from crofter.edge.socket_protocol import BoundedSocket
from crofter.resources.instances.serial import sessions
from tests.cloud import ADMIN, Cloud
from tests.edge.answers import connect, receive, request
from tests.resources.compute import deploy
from tests.resources.followers import eventually
from tests.resources.serial import Closed, Terminal, joined, linger, sign_in, token_of

UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
PEER = "127.0.0.91"


@pytest.fixture
def own_cloud() -> Iterator[Cloud]:
    cloud = Cloud()
    yield cloud
    cloud.close()


@pytest.fixture
def owner(own_cloud: Cloud) -> Client:
    return own_cloud.person(username="alice")


def upgrading(path: str, key: str = KEY) -> bytes:
    head, _, _ = request("GET", path, token=ADMIN).partition(b"\r\n\r\n")
    return head + b"\r\n" + UPGRADE.format(key).encode() + b"\r\n"


def test_an_account_and_a_process_have_so_many_consoles(
    own_cloud: Cloud, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PER_ACCOUNT", 2)
    monkeypatch.setattr(sessions, "AT_ONCE", 3)
    own, other = deploy(own_cloud, owner), own_cloud.person(username="carol")
    token, theirs = token_of(owner, own), token_of(other, deploy(own_cloud, other))
    terminals = [Terminal(own_cloud.url, token) for _ in range(2)]
    assert Terminal(own_cloud.url, token).end().code == 4429
    terminals.append(Terminal(own_cloud.url, theirs))
    for terminal in terminals:
        terminal.expect("login: ")
    assert Terminal(own_cloud.url, theirs).end().code == 4503
    terminals[0].close()

    eventually(lambda: _opens(own_cloud, token))
    for terminal in terminals[1:]:
        terminal.close()


def _opens(cloud: Cloud, token: str) -> bool:
    with joined(cloud, token) as terminal:
        while terminal.closed is None and b"login" not in terminal.shown:
            terminal._receive()
        return terminal.closed is None


def test_whoever_types_nothing_is_let_go(own_cloud: Cloud, owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "IDLE_SECONDS", 0.3)
    with joined(own_cloud, token_of(owner, deploy(own_cloud, owner))) as terminal:
        assert terminal.end() == Closed(4408, "Nothing was typed for 30 minutes.")


def test_a_client_that_does_not_read_is_cut_off_and_others_go_on(
    own_cloud: Cloud, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedSocket, "write_seconds", 1.0)
    monkeypatch.setattr(sockets, "TYPE_SECONDS", 0.2)
    token = token_of(owner, deploy(own_cloud, owner))
    deaf, good = Terminal(own_cloud.url, token, peer=PEER), Terminal(own_cloud.url, token)
    sign_in(deaf)
    sign_in(good)
    linger(deaf.connection)
    deaf.connection.settimeout(5)
    try:
        for _ in range(2000):  # each line is answered with itself, and with the prompt
            deaf.send(b"echo " + b"x" * 1000 + b"\r")
    except OSError:
        pass  # disconnected meanwhile, or the buffer is full
    good.type("uname\r")
    assert "Linux" in good.expect("# ")
    eventually(lambda: PEER not in BoundedProtocol.per_peer)
    good.type("whoami\r")
    assert "root" in good.expect("# ")
    deaf.close()
    good.close()


def test_a_message_without_an_end_is_cut_off(own_cloud: Cloud, owner: Client) -> None:
    token = token_of(owner, deploy(own_cloud, owner))
    for whole in (True, False):
        with joined(own_cloud, token) as terminal:
            try:
                for _ in range(8):
                    terminal.send(b"x" * sockets.MAX_MESSAGE * 2, whole=whole)
            except ConnectionError:
                pass
            assert terminal.end().code in (1009, 0)


def test_a_ping_is_answered_and_text_is_taken_as_bytes_are(own_cloud: Cloud, owner: Client) -> None:
    with joined(own_cloud, token_of(owner, deploy(own_cloud, owner))) as terminal:
        terminal._send(Ping(b"there?"))
        sign_in(terminal)
        terminal.type("echo grüße\r")
        assert "\r\ngrüße\r\n" in terminal.expect("# ")


def test_only_the_address_of_a_socket_is_one(own_cloud: Cloud, owner: Client) -> None:
    plain = owner.get("/lish/anything")
    assert (plain.status_code, plain.json()) == (426, {"errors": [{"reason": "This is the address of a web socket"}]})
    for path, status in (("/v4/tags", 200), ("/lish/", 404), ("/lish/x", 401)):
        with connect(own_cloud.url) as connection:
            connection.sendall(upgrading(path))
            assert receive(connection).status == status
    with connect(own_cloud.url) as connection:
        connection.sendall(upgrading("/lish/x").replace(KEY.encode(), b"").replace(b"Sec-WebSocket-Key: \r\n", b""))
        assert receive(connection).status == 400


def test_a_socket_behind_a_request_that_is_not_answered_yet_is_refused(own_cloud: Cloud) -> None:
    with connect(own_cloud.url) as connection:
        connection.sendall(request("GET", "/v4/account/events/stream", token=ADMIN) + upgrading("/lish/x"))
        answer = connection.makefile("rb").read()
        assert answer.count(b"HTTP/1.1 ") <= 1


def test_connections_of_a_peer_are_counted_until_their_sockets_end(own_cloud: Cloud, owner: Client) -> None:
    token = token_of(owner, deploy(own_cloud, owner))
    terminal = Terminal(own_cloud.url, token, peer=PEER)
    terminal.expect("login: ")
    assert BoundedProtocol.per_peer[PEER] == 1
    terminal.close()
    eventually(lambda: PEER not in BoundedProtocol.per_peer)


def test_a_server_that_stops_says_so() -> None:
    cloud = Cloud()
    owner = cloud.person(username="alice")
    terminal = Terminal(cloud.url, token_of(owner, deploy(cloud, owner)))
    terminal.expect("login: ")
    cloud.close()
    assert terminal.end().code in (4503, 1012)


def test_a_line_of_the_log_has_no_token() -> None:
    cloud = Cloud()
    lines = io.StringIO()
    cloud.application.app.parts.observer._lines = lines
    owner = cloud.person(username="alice")
    token = token_of(owner, deploy(cloud, owner))
    with joined(cloud, token) as terminal:
        terminal.expect("login: ")
    Terminal(cloud.url, token + "x").end()
    eventually(lambda: lines.getvalue().count("/lish/*") == 2)
    assert token not in lines.getvalue()
    assert '"status":101' in lines.getvalue()
    cloud.close()


def test_a_server_without_sockets_does_not_load_what_they_need() -> None:
    script = "import sys, crofter.cli.serve; print([name for name in sys.modules if 'wsproto' in name])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nobody_is_left_waiting_for_a_closed_connection(own_cloud: Cloud, owner: Client) -> None:
    with connect(own_cloud.url) as connection:
        connection.sendall(upgrading(f"/lish/{token_of(owner, deploy(own_cloud, owner))}"))
    eventually(lambda: own_cloud.application.app.parts.hub.waiting == 0)
