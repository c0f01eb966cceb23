"""Probe process: input, output, and its death."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from crofter.drivers.probes import Ask, ProbeClient

LOOPBACK = ("127.0.0.0/8", "::1/128")


@pytest.fixture
def probe_client() -> Iterator[ProbeClient]:
    made = ProbeClient()
    yield made
    made.close()


def ask(port: int, group: int = 1, timeout: float = 5) -> Ask:
    return Ask(0, group, "tcp", f"127.0.0.1:{port}", timeout, None, LOOPBACK, 0.0)


def silent() -> Ask:
    """A name that no server answers for within the time: looked up, and given up."""
    return Ask(0, 2, "url", "http://127.0.0.1:9/", 5, None, (), 0.0)


def test_many_are_asked_at_once_and_each_is_answered(probe_client: ProbeClient) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as open_port:
        port = open_port.getsockname()[1]
        numbers = probe_client.ask([(f"service {number}", ask(port, group=number)) for number in range(200)])
        answers, left = probe_client.collect(numbers, 20)
    assert left == []
    assert {answer.ok for answer in answers.values()} == {True}
    assert sorted(answers) == numbers
    assert probe_client.busy() == set()


def test_it_knows_nothing_of_the_service(probe_client: ProbeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROFTER_SECRET_KEY", "a secret")
    probe_client.collect(probe_client.ask([("one", silent())]), 20)
    assert probe_client._process is not None
    folder = Path(f"/proc/{probe_client._process.pid}")
    assert (folder / "environ").read_bytes() == b""
    opened = {os.readlink(descriptor) for descriptor in (folder / "fd").iterdir()}
    assert not [path for path in opened if path.startswith("/") and not path.startswith("/dev/")]
    if os.geteuid() == 0:
        assert "Uid:\t65534\t65534" in (folder / "status").read_text()


def test_a_service_that_does_not_answer_holds_up_no_other(probe_client: ProbeClient) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as quick, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        dead = deaf.getsockname()[1]
        filler = [socket.create_connection(("127.0.0.1", dead), timeout=1)]  # its queue is full now
        slow = probe_client.ask([(f"slow {number}", ask(dead, 1, 30)) for number in range(50)])
        numbers = probe_client.ask([(f"quick {number}", ask(quick.getsockname()[1], 2)) for number in range(50)])
        answers, left = probe_client.collect(numbers, 20)
        assert left == []
        assert all(answer.ok for answer in answers.values())
        assert probe_client.collect(slow, 0)[1]
        assert len(probe_client.busy()) > 0
        filler[0].close()


def test_when_it_dies_what_was_asked_is_lost_and_the_next_question_starts_it_again(probe_client: ProbeClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as open_port:
        port = open_port.getsockname()[1]
        assert probe_client.collect(probe_client.ask([("one", ask(port))]), 20)[0]
        assert probe_client._process is not None
        first = probe_client._process.pid
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            filler = socket.create_connection(deaf.getsockname(), timeout=1)
            lost = probe_client.ask([("two", ask(deaf.getsockname()[1], timeout=60))])
            os.kill(first, signal.SIGKILL)
            assert probe_client.collect(lost, 20) == ({}, [])
            filler.close()
        answers, _ = probe_client.collect(probe_client.ask([("three", ask(port))]), 20)
        assert [answer.ok for answer in answers.values()] == [True]
        assert probe_client._process is not None
        assert probe_client._process.pid != first


def test_what_died_with_it_is_not_thought_to_be_under_way(probe_client: ProbeClient) -> None:
    """Probe again before the death was reported."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        for _ in range(5):
            probe_client.ask([("hangs", Ask(0, 1, "url", f"http://127.0.0.1:{port}/", 60, None, LOOPBACK, 0.0))])
            with deaf.accept()[0]:
                process = probe_client._process
                assert process is not None
                process.kill()
                process.wait()
            probe_client.collect(probe_client.ask([("answers", ask(port))]), 20)
            deaf.accept()[0].close()
            assert probe_client.busy() == set()


def test_it_ends_with_the_service(probe_client: ProbeClient) -> None:
    probe_client.collect(probe_client.ask([("one", silent())]), 20)
    process = probe_client._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(20) == 0
