"""The probe process: what it is given, what it tells, and what becomes of the house when it dies."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from crofter.drivers.probes import Ask, Crew

LOOPBACK = ("127.0.0.0/8", "::1/128")


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew()
    yield made
    made.close()


def ask(port: int, group: int = 1, timeout: float = 5) -> Ask:
    return Ask(0, group, "tcp", f"127.0.0.1:{port}", timeout, None, LOOPBACK, 0.0)


def silent() -> Ask:
    """A name that no server answers for within the time: looked up, and given up."""
    return Ask(0, 2, "url", "http://127.0.0.1:9/", 5, None, (), 0.0)


def test_many_are_asked_at_once_and_each_is_answered(crew: Crew) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as open_port:
        port = open_port.getsockname()[1]
        numbers = crew.ask([(f"service {number}", ask(port, group=number)) for number in range(200)])
        answers, left = crew.collect(numbers, 20)
    assert left == []
    assert {answer.ok for answer in answers.values()} == {True}
    assert sorted(answers) == numbers
    assert crew.busy() == set()


def test_it_knows_nothing_of_the_house(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROFTER_SECRET_KEY", "a secret")
    crew.collect(crew.ask([("one", silent())]), 20)
    assert crew._process is not None
    folder = Path(f"/proc/{crew._process.pid}")
    assert (folder / "environ").read_bytes() == b""
    opened = {os.readlink(one) for one in (folder / "fd").iterdir()}
    assert not [path for path in opened if path.startswith("/") and not path.startswith("/dev/")]
    if os.geteuid() == 0:
        assert "Uid:\t65534\t65534" in (folder / "status").read_text()


def test_a_service_that_does_not_answer_holds_up_no_other(crew: Crew) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as quick, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        dead = deaf.getsockname()[1]
        filler = [socket.create_connection(("127.0.0.1", dead), timeout=1)]  # its queue is full now
        slow = crew.ask([(f"slow {number}", ask(dead, 1, 30)) for number in range(50)])
        numbers = crew.ask([(f"quick {number}", ask(quick.getsockname()[1], 2)) for number in range(50)])
        answers, left = crew.collect(numbers, 20)
        assert left == []
        assert all(answer.ok for answer in answers.values())
        assert crew.collect(slow, 0)[1]
        assert len(crew.busy()) > 0
        filler[0].close()


def test_when_it_dies_what_was_asked_is_lost_and_the_next_question_starts_it_again(crew: Crew) -> None:
    with socket.create_server(("127.0.0.1", 0)) as open_port:
        port = open_port.getsockname()[1]
        assert crew.collect(crew.ask([("one", ask(port))]), 20)[0]
        assert crew._process is not None
        first = crew._process.pid
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            filler = socket.create_connection(deaf.getsockname(), timeout=1)
            lost = crew.ask([("two", ask(deaf.getsockname()[1], timeout=60))])
            os.kill(first, signal.SIGKILL)
            assert crew.collect(lost, 20) == ({}, [])
            filler.close()
        answers, _ = crew.collect(crew.ask([("three", ask(port))]), 20)
        assert [answer.ok for answer in answers.values()] == [True]
        assert crew._process is not None
        assert crew._process.pid != first


def test_what_died_with_it_is_not_thought_to_be_under_way(crew: Crew) -> None:
    """Even if the next question comes before its death has been told."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        for _ in range(5):
            crew.ask([("hangs", Ask(0, 1, "url", f"http://127.0.0.1:{port}/", 60, None, LOOPBACK, 0.0))])
            with deaf.accept()[0]:
                process = crew._process
                assert process is not None
                process.kill()
                process.wait()
            crew.collect(crew.ask([("answers", ask(port))]), 20)
            deaf.accept()[0].close()
            assert crew.busy() == set()


def test_it_ends_with_the_house(crew: Crew) -> None:
    crew.collect(crew.ask([("one", silent())]), 20)
    process = crew._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(20) == 0
