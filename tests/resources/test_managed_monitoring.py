"""Monitoring, with real servers that go down and come up."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path

import pytest
from httpx2 import Client

from crofter import clock
from crofter.context import Context
from crofter.engine.queue import enqueue
from crofter.resources.managed.enabling import disable
from crofter.resources.managed.services import rounds
from crofter.resources.support import staff
from tests.cloud import Cloud
from tests.observed import actions, mails
from tests.resources.followers import eventually
from tests.resources.monitoring import PATH, dora, force, issues, server, status, tickets, watch
from tests.resources.servers import Server, certificate

__all__ = ["dora", "server"]


def closed(cloud: Cloud, issue: int) -> bool:
    with cloud.runtime.database.read() as db:
        return bool(db.raw(f"SELECT closed IS NOT NULL FROM managed_issue WHERE id = {issue}").fetchone()[0])


@pytest.mark.both
def test_a_web_server_goes_down_and_comes_up(cloud: Cloud, dora: Client, server: Server) -> None:
    on_call = ["jo@example.com", "ann@example.com", "jo@example.com"]
    for email in on_call:
        dora.post("/v4/managed/contacts", json={"name": "Jo", "email": email, "group": "on-call"})
    dora.post("/v4/managed/contacts", json={"name": "Nobody", "group": "on-call"})
    dora.post("/v4/managed/contacts", json={"name": "Al", "email": "al@example.com", "group": "others"})
    other = cloud.person(username="mallory", managed=True)
    other.post("/v4/managed/contacts", json={"name": "Eve", "email": "eve@example.com", "group": "on-call"})
    watch(dora, server.url, body="hello", consultation_group="on-call")
    cloud.settle()
    assert status(dora) == "ok"
    assert (issues(dora), tickets(dora)) == ([], [])

    server.stop()
    cloud.advance(60)
    assert status(dora) == "problem"
    (issue,) = issues(dora)
    (ticket,) = tickets(dora)
    assert issue["services"] == [1]
    assert issue["entity"] == {
        "id": ticket["id"],
        "label": ticket["summary"],
        "type": "ticket",
        "url": f"/v4/support/tickets/{ticket['id']}",
    }
    assert dora.get(f"/v4/managed/issues/{issue['id']}").json() == issue
    assert (ticket["status"], ticket["closable"], ticket["opened_by"]) == ("new", False, staff.MONITORING)
    assert "it could not be reached" in ticket["description"]
    assert sorted(mail["to"] for mail in mails(cloud)) == ["ann@example.com", "jo@example.com"]
    assert {mail["subject"] for mail in mails(cloud)} == {"Managed service web is down"}

    cloud.advance(600)
    assert len(issues(dora)) == len(tickets(dora)) == 1
    assert len(mails(cloud)) == 2
    assert not closed(cloud, issue["id"])

    server.start()
    cloud.advance(60)
    assert status(dora) == "ok"
    assert tickets(dora)[0]["status"] == "closed"
    replies = dora.get(f"/v4/support/tickets/{ticket['id']}/replies").json()["data"]
    assert ["is up again" in reply["description"] for reply in replies] == [True]
    assert actions(dora) == ["ticket_update", "ticket_create", "managed_service_create"]
    assert [mail["subject"] for mail in mails(cloud)[:2]] == ["Managed service web is up again"] * 2
    assert len(mails(cloud)) == 4
    assert closed(cloud, issue["id"])

    server.stop()
    cloud.advance(60)
    assert status(dora) == "problem"
    assert len(issues(dora)) == len(tickets(dora)) == 2


def test_a_plain_server_goes_down_and_comes_up(cloud: Cloud, dora: Client) -> None:
    server = Server(b"")
    watch(dora, f"127.0.0.1:{server.port}", service_type="tcp")
    watch(dora, f"tcp://localhost:{server.port}", service_type="tcp")
    cloud.settle()
    assert [status(dora, number) for number in (1, 2)] == ["ok", "ok"]
    server.stop()
    cloud.advance(60)
    assert [status(dora, number) for number in (1, 2)] == ["problem", "problem"]
    assert [issue["services"] for issue in issues(dora)] == [[1], [2]]
    server.start()
    cloud.advance(60)
    assert [status(dora, number) for number in (1, 2)] == ["ok", "ok"]
    server.stop()


def test_a_secure_server_is_up_with_a_good_certificate_alone(tmp_path: Path) -> None:
    authority = certificate(tmp_path, "authority")
    cloud = Cloud(probe_certificates=str(authority))
    files = {
        "good": certificate(tmp_path, "good", authority),
        "expired": certificate(tmp_path, "expired", authority, days=-1),
        "of another": certificate(tmp_path, "other", authority, host="127.0.0.2"),
        "of its own": certificate(tmp_path, "own"),
    }
    servers = [Server(certificate=file) for file in files.values()]
    try:
        cloud.freeze()
        dora = cloud.person(username="dora", managed=True)
        for server in servers:
            watch(dora, server.url, body="hello")
        cloud.settle()
        assert [status(dora, number) for number in range(1, 5)] == ["ok", "problem", "problem", "problem"]
        assert {"its certificate is not valid" in ticket["description"] for ticket in tickets(dora)} == {True}
    finally:
        for server in servers:
            server.stop()
        rounds.probe_client(cloud.runtime).close()
        cloud.close()


def test_a_service_is_a_problem_only_when_it_fails_three_times_in_a_row(
    cloud: Cloud, dora: Client, server: Server
) -> None:
    watch(dora, server.url)
    cloud.settle()
    visits, server.hung_up = server.visits, 2
    cloud.advance(60)
    assert (status(dora), server.visits - visits, tickets(dora)) == ("ok", 3, [])
    server.hung_up = 3
    cloud.advance(60)
    assert (status(dora), len(tickets(dora))) == ("problem", 1)


def test_a_service_that_is_down_from_the_beginning_is_a_problem_too(cloud: Cloud, dora: Client) -> None:
    watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    assert status(dora) == "problem"
    assert len(issues(dora)) == len(tickets(dora)) == 1


def test_the_wrong_text_is_a_problem_and_a_redirect_is_none(cloud: Cloud, dora: Client, server: Server) -> None:
    watch(dora, server.url, body="good bye")
    cloud.settle()
    assert status(dora) == "problem"
    assert "the expected text is not in its answer" in tickets(dora)[0]["description"]
    server.reply = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n"
    dora.put(f"{PATH}/1", json={"body": None})
    cloud.settle()
    assert status(dora) == "ok"


def test_what_was_changed_is_looked_at_anew(cloud: Cloud, dora: Client, server: Server) -> None:
    watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    assert status(dora) == "problem"
    changed = dora.put(f"{PATH}/1", json={"address": server.url, "label": "new one", "timeout": 30}).json()
    assert (changed["address"], changed["label"], changed["timeout"]) == (server.url, "new one", 30)
    cloud.settle()
    assert status(dora) == "ok"
    visits = server.visits
    dora.put(f"{PATH}/1", json={"label": "newer one", "notes": "ask Jo"})
    cloud.settle()
    assert server.visits == visits


def test_a_service_is_looked_at_every_minute(cloud: Cloud, dora: Client, server: Server) -> None:
    watch(dora, server.url)
    cloud.settle()
    visits = server.visits
    cloud.advance(600)
    assert server.visits == visits + 10


def test_a_long_way_is_not_looked_at_minute_by_minute(cloud: Cloud, dora: Client, server: Server) -> None:
    """Probe once per advance: nothing outside changes while the clock moves, and a week is ten thousand probes."""
    watch(dora, server.url)
    cloud.settle()
    visits = server.visits
    cloud.advance(7 * 86400)
    assert (status(dora), server.visits - visits < 20) == ("ok", True)
    server.stop()
    before = cloud.runtime.clock.now()
    cloud.advance(7 * 86400)
    assert (status(dora), len(tickets(dora))) == ("problem", 1)
    assert clock.parse(tickets(dora)[0]["opened"]) - before <= clock.MINUTE
    server.start()
    cloud.advance(60)
    assert status(dora) == "ok"


def test_an_outage_on_a_long_way_is_found_when_it_happens(cloud: Cloud, dora: Client) -> None:
    body = {"type": "g6-nanode-1", "region": "us-east", "image": "compute/debian11", "root_pass": "aComplex@Password1"}
    number = dora.post("/v4/compute/instances", json=body).json()["id"]
    cloud.settle()
    watch(dora, f"http://{dora.get(f'/v4/compute/instances/{number}').json()['ipv4'][0]}/")
    cloud.settle()
    cloud.sandbox.put("/_sandbox/transitions", json={"*": {"seconds": 1}, "compute_migrate": {"seconds": 300}})
    when = clock.parse(clock.text(cloud.runtime.clock.now() + clock.DAY))
    cloud.fault("maintenance", compute_id=number, type="cold_migration", when=clock.text(when))
    cloud.advance(2 * 86400)
    (ticket,) = tickets(dora)
    assert 0 <= clock.parse(ticket["opened"]) - when <= 2 * clock.MINUTE
    assert 5 * clock.MINUTE <= clock.parse(ticket["closed"]) - when <= 10 * clock.MINUTE
    assert status(dora) == "ok"


def test_a_service_that_is_switched_off_is_left_alone(cloud: Cloud, dora: Client, server: Server) -> None:
    watch(dora, server.url)
    cloud.settle()
    assert dora.post(f"{PATH}/1/disable").json()["status"] == "disabled"
    server.stop()
    visits = server.visits
    cloud.advance(300)
    assert (status(dora), server.visits, tickets(dora)) == ("disabled", visits, [])
    server.start()
    assert dora.post(f"{PATH}/1/enable").json()["status"] == "pending"
    cloud.settle()
    assert status(dora) == "ok"
    assert dora.post(f"{PATH}/1/enable").json()["status"] == "ok"


@pytest.mark.parametrize("how", ["disable", "delete"])
def test_an_outage_ends_when_it_is_no_longer_looked_at(cloud: Cloud, dora: Client, how: str) -> None:
    watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    answer = dora.delete(f"{PATH}/1") if how == "delete" else dora.post(f"{PATH}/1/disable")
    assert answer.status_code == 200
    assert tickets(dora)[0]["status"] == "closed"
    assert [issue["services"] for issue in issues(dora)] == [[1]]
    if how == "delete":
        assert answer.json() == {}
        assert dora.get(f"{PATH}/1").status_code == 404
        assert actions(dora)[0] == "managed_service_delete"


def test_a_ticket_in_which_people_talk_stays_open_when_the_service_is_back(cloud: Cloud, dora: Client) -> None:
    watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    dora.post("/v4/support/tickets/1/replies", json={"description": "We know, it is the cleaner."})
    force(cloud, 1, "up")
    cloud.advance(60)
    assert status(dora) == "ok"
    assert tickets(dora)[0]["status"] == "open"


@pytest.mark.parametrize("how", ["deleted", "closed"])
def test_schedules_come_and_go_with_services(cloud: Cloud, dora: Client, how: str) -> None:
    def planned() -> int:
        with cloud.runtime.database.read() as db:
            return int(db.raw("SELECT count(*) FROM schedule WHERE kind = 'managed.round'").fetchone()[0])

    assert planned() == 0
    watch(dora, "http://127.0.0.1:9/")
    watch(dora, "http://127.0.0.1:9/")
    assert planned() == 1
    if how == "closed":
        assert dora.post("/v4/account/cancel", json={"comments": "Bye."}).status_code == 200
    else:
        for number in (1, 2):
            dora.delete(f"{PATH}/{number}")
    cloud.advance(120)
    assert planned() == 0


def test_an_account_that_is_managed_no_longer_is_left_alone_until_it_is_again(cloud: Cloud, server: Server) -> None:
    cloud.freeze()
    account = cloud.account(username="dora", managed=True)
    dora = cloud.client(account["token"])
    watch(dora, server.url)
    cloud.settle()
    with cloud.runtime.database.write() as db:
        ctx = Context(cloud.runtime, db)
        assert disable(ctx, staff.account_of(ctx, account["euuid"]))
    server.stop()
    cloud.advance(300)
    assert tickets(dora) == []
    assert dora.post("/v4/account/settings/managed-enable").status_code == 200
    cloud.advance(60)
    assert (status(dora), len(tickets(dora))) == ("problem", 1)


def test_a_service_that_goes_before_it_was_looked_at_takes_no_other_with_it(
    cloud: Cloud, dora: Client, server: Server
) -> None:
    watch(dora, server.url)
    watch(dora, server.url)
    dora.delete(f"{PATH}/1")
    cloud.settle()
    assert status(dora, 2) == "ok"
    server.stop()
    cloud.advance(60)
    assert status(dora, 2) == "problem"


def test_a_slow_service_holds_up_no_other(cloud: Cloud, server: Server) -> None:
    """Probe a slow and a fast service on a running clock: the fast one is reported without delay."""
    client = cloud.person(username="dora", managed=True)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        watch(client, f"http://127.0.0.1:{deaf.getsockname()[1]}/", timeout=255)
        watch(client, server.url)
        with cloud.runtime.database.write() as db:
            enqueue(Context(cloud.runtime, db), rounds.ROUND, rounds.Block(1, 2))
        assert server.visited.wait(20)
        eventually(lambda: status(client, 2) != "pending")
        assert (status(client, 2), status(client, 1)) == ("ok", "pending")


def test_who_moves_the_clock_does_not_wait_for_what_was_asked_while_it_ran(cloud: Cloud) -> None:
    client = cloud.person(username="dora", managed=True)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        watch(client, f"http://127.0.0.1:{deaf.getsockname()[1]}/", timeout=255)
        with cloud.runtime.database.write() as db:
            enqueue(Context(cloud.runtime, db), rounds.ROUND, rounds.Block(1, 1))
        with deaf.accept()[0]:
            cloud.advance(60)
            assert status(client) == "problem"


def test_many_services_share_few_operations(cloud: Cloud, dora: Client) -> None:
    for _ in range(20):
        watch(dora, "http://127.0.0.1:9/")
    cloud.settle()
    before = cloud.application.worker.metrics["claimed"]
    cloud.advance(60)
    assert cloud.application.worker.metrics["claimed"] - before < 10


def test_a_probe_process_that_dies_over_a_look_makes_no_outage(cloud: Cloud, dora: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        place = f"127.0.0.1:{deaf.getsockname()[1]}"
        watch(dora, place, service_type="tcp")
        cloud.settle()
        deaf.accept()[0].close()
        dora.put(f"{PATH}/1", json={"service_type": "url", "address": f"http://{place}/", "timeout": 255})
        moving = threading.Thread(target=cloud.advance, args=(5,))
        moving.start()
        with deaf.accept()[0]:  # a probe is waiting for a response now
            process = rounds.probe_client(cloud.runtime).process_id
            assert process is not None
            os.kill(process, signal.SIGKILL)
            moving.join(20)
        assert not moving.is_alive()
        assert (status(dora), tickets(dora), mails(cloud)) == ("ok", [], [])
    cloud.advance(60)
    assert (status(dora), len(tickets(dora))) == ("problem", 1)
    assert rounds.probe_client(cloud.runtime).process_id not in (None, process)


def test_what_was_asked_before_a_reset_keeps_no_service_waiting_after_it(cloud: Cloud) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        watch(cloud.person(username="dora", managed=True), address, timeout=255)
        with cloud.runtime.database.write() as db:
            enqueue(Context(cloud.runtime, db), rounds.ROUND, rounds.Block(1, 1))
        with deaf.accept()[0]:
            cloud.reset()
            cloud.freeze()
            dora = cloud.person(username="dora", managed=True)
            watch(dora, address, timeout=255)
            cloud.settle()
            assert status(dora) == "problem"
