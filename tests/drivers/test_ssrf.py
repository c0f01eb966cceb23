"""The guard before every look outside: what it refuses, it refuses before a connection is made."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from crofter.drivers.probes import ProbeClient
from crofter.drivers.probes.addresses import Refused, judge, networks, parse
from crofter.drivers.probes.probing import probe
from crofter.drivers.probes.wire import Answer, Ask

LOOPBACK = ("127.0.0.0/8", "::1/128")
SOMEWHERE = "93.184.216.34"

URLS = """
http://127.0.0.1/ http://127.1/ http://127.0.1/ http://0/ http://0.0.0.0/ http://2130706433/ http://0x7f000001/
http://0x7f.0.0.1/ http://0x7f.1/ http://017700000001/ http://0177.0.0.1/ http://00127.0.0.1/ http://127.0.0.1./
http://127.0.0.0x1/ http://1.2.3/ http://256.1.1.1/ http://localhost/ http://localhost./ http://LOCALHOST/
http://x.localhost/ http://localhost.localdomain/ http://foo.local/ http://foo.internal/ http://metadata.google.internal/
http://foo.intranet/ http://foo.corp/ http://foo.home/ http://foo.lan/ http://router.home.arpa/
http://1.0.0.127.in-addr.arpa/ http://hidden.onion/
http://169.254.169.254/latest/meta-data/ http://169.254.170.2/ http://100.100.100.200/ http://192.0.0.192/
http://10.0.0.1/ http://10.255.255.255/ http://172.16.0.1/ http://172.31.255.255/ http://192.168.0.1/ http://100.64.0.1/
http://198.18.0.1/ http://198.19.255.255/ http://192.0.0.8/ http://192.0.0.170/ http://192.0.2.1/ http://198.51.100.1/
http://203.0.113.1/ http://192.88.99.1/ http://224.0.0.1/ http://239.255.255.250/ http://240.0.0.1/ http://255.255.255.255/
http://[::1]/ http://[::]/ http://[0:0:0:0:0:0:0:1]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/
http://[::ffff:169.254.169.254]/ http://[::ffff:93.184.216.34]/ http://[::127.0.0.1]/ http://[::ffff:0:127.0.0.1]/
http://[64:ff9b::7f00:1]/ http://[64:ff9b::169.254.169.254]/ http://[64:ff9b:1::1]/ http://[2002:7f00:1::]/
http://[2002:a9fe:a9fe::]/ http://[2001::1]/ http://[2001:0:5ef5:79fd::1]/ http://[2a00:1450::5efe:7f00:1]/
http://[2a00:1450::200:5efe:a00:1]/ http://[fd00:ec2::254]/ http://[fe80::1]/ http://[fe80::1%25eth0]/ http://[fe80::1%eth0]/
http://[fec0::1]/ http://[fc00::1]/ http://[ff02::1]/ http://[100::1]/ http://[3fff::1]/ http://[5f00::1]/
http://[2001:db8::1]/ http://[4000::1]/ http://[::ffff:127.0.0.1%25lo]/ http://[127.0.0.1]/ http://[]/ http://[::1/
http://user:pass@example.com/ http://user@example.com/ http://example.com@127.0.0.1/ http://127.0.0.1#@example.com/
http://example.com:22/ http://example.com:25/ http://example.com:6379/ http://example.com:11211/ http://example.com:0/
http://example.com:99999/ http://example.com:port/ http://example.com:-80/ http://example.com:/ https://example.com:587/
ftp://example.com/ file:///etc/passwd gopher://example.com:6379/_INFO dict://example.com:11211/ ldap://example.com/
unix:///var/run/docker.sock jar:http://example.com!/ javascript:alert(1) data:text/html,x //example.com/ /etc/passwd
http:/example.com http:example.com http:// http://. http://.. http://a http://example http://-a.com/ http://a-.com/
http://a..com/ http://.com/ http://*.example.com/ http://example.c/ http://example.com%2f@127.0.0.1/ http://ex%61mple.com/
""".split()
ODD_URLS = [
    "http://exa\tmple.com/",
    "http://example.com/\r\nHost: 127.0.0.1",
    "http://example.com\\@127.0.0.1/",
    "http://127.0.0.1\\.example.com/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://ⓛocalhost/",
    "http://example.com/\x00",
    " http://example.com/",
    "http://example.com/ ",
    "http://ex ample.com/",
    "http://" + "a" * 64 + ".com/",
    "http://" + "a." * 130 + "com/",
    "http://example.com/" + "a" * 2048,
    "http://еxample.com/",
    "",
]
CONNECTIONS = """
127.0.0.1:80 localhost:80 tcp://127.0.0.1:22 [::1]:80 [::ffff:127.0.0.1]:80 169.254.169.254:80 2130706433:80 0x7f.1:80
example.com example.com: example.com:0 example.com:65536 example.com:http user@example.com:22 tcp://example.com
udp://example.com:53 example.com:22/path ::1:80 example.com:22:23
""".split()


def asked(address: str, kind: str = "url", **more: Any) -> Ask:
    return Ask(1, 1, kind, address, more.pop("timeout", 5), pause=0.0, **more)  # type: ignore[arg-type]


async def never(*_where: Any, **_how: Any) -> Any:
    raise AssertionError("a connection was made")


def resolving(*addresses: str) -> Callable[[str, int], Awaitable[Sequence[str]]]:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return addresses

    return resolve


def seen(ask: Ask, resolver: Any = None, connect: Any = never) -> Answer:
    return asyncio.run(probe(ask, resolver=resolver or resolving(SOMEWHERE), connect=connect))


def refused(answer: Answer) -> bool:
    return not answer.ok and answer.detail.startswith("it must not be looked at")


def test_the_table_is_long_enough() -> None:
    assert len({*URLS, *ODD_URLS, *CONNECTIONS}) >= 150


def test_a_listener_on_this_machine_is_never_reached() -> None:
    """The whole table once more, with the port of a real listener, through the real process and the real network."""
    probe_client = ProbeClient()
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512) as listening:
        listening.setblocking(False)
        port = listening.getsockname()[1]
        urls = [re.sub(r"^(https?://[^/@#:]+|https?://\[[^/]*\])/", rf"\1:{port}/", url) for url in (*URLS, *ODD_URLS)]
        tcp = [re.sub(r":(80|22)$", f":{port}", address) for address in CONNECTIONS]
        assert sum(f":{port}" in address for address in (*urls, *tcp)) > 90
        asks = [asked(url) for url in urls] + [asked(address, "tcp") for address in tcp]
        answers, left = probe_client.collect(probe_client.ask([(ask.address, ask) for ask in asks]), 60)
        assert (len(answers), left) == (len(asks), [])
        assert [answer.detail for answer in answers.values() if not refused(answer)] == []
        with pytest.raises(BlockingIOError):
            listening.accept()
        welcome = probe_client.ask([("itself", asked(f"127.0.0.1:{port}", "tcp", allowed=LOOPBACK))])
        assert [answer.ok for answer in probe_client.collect(welcome, 20)[0].values()] == [True]
        listening.accept()[0].close()  # proves that a connection would have been seen
    probe_client.close()


@pytest.mark.parametrize("address", [*URLS, *ODD_URLS])
def test_a_url_that_must_not_be_asked_is_refused_before_any_connection(address: str) -> None:
    assert refused(seen(asked(address)))


@pytest.mark.parametrize("address", CONNECTIONS)
def test_a_connection_that_must_not_be_made_is_refused(address: str) -> None:
    assert refused(seen(asked(address, "tcp")))


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com/",
        "HTTPS://Example.COM:8443/a?b=c#d",
        "http://example.com?x=1",
        "http://my_host.example.com.:3000/",
        "http://xn--mnchen-3ya.de/",
        "http://93.184.216.34/",
        "http://[2606:2800:220:1:248:1893:25c8:1946]/",
        "http://1and1.com/",
    ],
)
def test_a_public_address_is_looked_at(address: str) -> None:
    went: list[str] = []

    async def connect(where: str, _port: int, **_how: Any) -> Any:
        went.append(where)
        raise ConnectionRefusedError

    answer = seen(asked(address), connect=connect)
    assert answer.detail == "it could not be reached"
    assert set(went) <= {SOMEWHERE, "2606:2800:220:1:248:1893:25c8:1946"}
    assert len(went) == 3


@pytest.mark.parametrize(
    "answers",
    [
        [SOMEWHERE, "10.0.0.1"],
        ["127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["fe80::1%eth0"],
        ["169.254.169.254"],
        [SOMEWHERE, "fd00::1"],
    ],
)
def test_one_bad_answer_of_a_name_server_spoils_all(answers: list[str]) -> None:
    assert refused(seen(asked("http://example.com/"), resolving(*answers)))


def test_a_name_that_leads_nowhere_or_everywhere_is_not_followed() -> None:
    many = [f"93.184.216.{number}" for number in range(17)]
    for answers in ([], many):
        assert seen(asked("http://example.com/"), resolving(*answers)).detail == "its name leads to no address"


def test_a_name_that_changes_its_mind_is_asked_once_for_each_attempt_and_judged_each_time() -> None:
    answers = iter([[SOMEWHERE], ["127.0.0.1"]])
    went: list[str] = []

    async def rebinding(_host: str, _port: int) -> Sequence[str]:
        return next(answers)

    async def connect(where: str, _port: int, **_how: Any) -> Any:
        went.append(where)
        raise ConnectionRefusedError

    assert refused(seen(asked("http://rebind.example.com/"), rebinding, connect))
    assert went == [SOMEWHERE]


def test_what_is_connected_to_is_the_judged_address_and_the_certificate_is_that_of_the_name() -> None:
    how: dict[str, Any] = {}

    async def connect(where: str, port: int, **more: Any) -> Any:
        how.update(more, where=where, port=port)
        raise ConnectionRefusedError

    seen(asked("https://example.com/"), connect=connect)
    assert (how["where"], how["port"], how["server_hostname"]) == (SOMEWHERE, 443, "example.com")
    assert how["ssl"].check_hostname


def test_a_peer_that_is_not_the_one_that_was_judged_is_left_alone() -> None:
    with server(b"HTTP/1.1 200 OK\r\n\r\nhello") as port:

        async def astray(_where: str, _port: int, **_how: Any) -> Any:
            return await asyncio.open_connection("127.0.0.1", port)

        assert refused(seen(asked("http://example.com/"), connect=astray))


def test_a_private_address_is_looked_at_only_inside_the_networks_that_are_allowed() -> None:
    assert refused(seen(asked("http://192.168.5.5/", allowed=("192.168.128.0/17",))))
    with pytest.raises(AssertionError, match="a connection was made"):
        seen(asked("http://192.168.130.5/", allowed=("192.168.128.0/17",)))
    assert refused(seen(asked("http://169.254.169.254/", allowed=("192.168.128.0/17",))))


def test_allowed_networks_do_not_let_other_spellings_of_them_in() -> None:
    for address in ("http://[::ffff:127.0.0.1]/", "http://2130706433/", "http://127.1/", "http://[64:ff9b::7f00:1]/"):
        assert refused(seen(asked(address, allowed=LOOPBACK)))


def test_the_name_of_this_machine_must_lead_to_this_machine() -> None:
    assert refused(seen(asked("http://localhost/", allowed=LOOPBACK), resolving(SOMEWHERE)))


def test_addresses_are_judged_by_our_own_list() -> None:
    with pytest.raises(Refused):
        judge("192.0.0.9")
    assert str(judge("8.8.8.8")) == "8.8.8.8"
    assert str(judge("10.1.2.3", networks("10.0.0.0/8"))) == "10.1.2.3"
    target = parse("url", "http://[2606:2800:220:1:248:1893:25c8:1946]:8080/x?y#z")
    assert (target.authority, target.path) == ("[2606:2800:220:1:248:1893:25c8:1946]:8080", "/x?y")


# behaviour of real servers


@contextmanager
def server(reply: bytes, *, drip: bool = False) -> Iterator[int]:
    """A server on this machine that answers every connection so; ``drip``: a byte at a time, without end."""
    listening = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve() -> None:
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(peer,), daemon=True).start()

    def answer(peer: socket.socket) -> None:
        with peer:
            try:
                peer.recv(4096)
                peer.sendall(reply)
                while drip and not stop.wait(0.05):
                    peer.sendall(b"x")
            except OSError:
                pass

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        stop.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def at(port: int, **more: Any) -> Answer:
    return asyncio.run(probe(asked(f"http://127.0.0.1:{port}/", allowed=LOOPBACK, **more)))


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("reply", "body", "ok", "detail"),
    [
        (OK + b"\r\nhello world", "hello", True, "status 200"),
        (OK + b"\r\nhello world", None, True, "status 200"),
        (OK + b"\r\nbye", "hello", False, "the expected text is not in its answer"),
        (OK + b"X-Text: hello\r\n\r\nbye", "hello", False, "the expected text is not in its answer"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "hello", True, "status 200"),
        (OK + b"\r\n" + "grüße".encode("latin-1"), "grüße", True, "status 200"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", None, True, "status 204"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n", None, True, "status 302"),
        (b"HTTP/1.1 404 Not Found\r\n\r\nhello", "hello", False, "it answered with status 404"),
        (b"HTTP/1.1 503 Away\r\n\r\n", None, False, "it answered with status 503"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", None, False, "it answered with status 100"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", None, False, "it did not answer in HTTP"),
        (b"", None, False, "it did not answer in HTTP"),
        (OK + b"\r\n" + b"x" * 5_000_000 + b"hello", "hello", False, "the expected text is not in its answer"),
        (OK + b"X: " + b"x" * 5_000_000, None, False, "it did not answer in HTTP"),
        (OK + b"X: " + b"x" * 5_000_000, "x", False, "it did not answer in HTTP"),
        (OK + b"X: " + b"x" * 5_000_000 + b"\r\n\r\nhello", "hello", False, "it did not answer in HTTP"),
        (b"x" * 5_000_000, None, False, "it did not answer in HTTP"),
        (OK + b"X: ", "X", False, "the expected text is not in its answer"),
    ],
)
def test_an_answer_is_judged_by_its_status_and_its_first_bytes(
    reply: bytes, body: str | None, ok: bool, detail: str
) -> None:
    with server(reply) as port:
        answer = at(port, body=body)
    assert (answer.ok, answer.detail) == (ok, detail)


def test_a_redirect_is_never_followed() -> None:
    visited: list[str] = []
    with server(b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\n\r\n") as port:

        async def connect(where: str, target: int, **how: Any) -> Any:
            visited.append(f"{where}:{target}")
            return await asyncio.open_connection(where, target, **how)

        asyncio.run(probe(asked(f"http://127.0.0.1:{port}/", allowed=LOOPBACK), connect=connect))
        assert visited == [f"127.0.0.1:{port}"]


@pytest.mark.parametrize("reply", [b"", OK, OK + b"\r\n"])
def test_a_slow_drip_takes_no_longer_than_the_timeout(reply: bytes) -> None:
    with server(reply, drip=True) as port:
        answer = at(port, timeout=0.5, body="hello")
    assert (answer.ok, answer.detail) == (False, "it did not answer in time")


def test_a_closed_port_is_tried_three_times() -> None:
    tries: list[int] = []

    async def connect(_where: str, port: int, **_how: Any) -> Any:
        tries.append(port)
        raise ConnectionRefusedError

    assert not seen(asked("http://example.com/"), connect=connect).ok
    assert len(tries) == 3
