"""Records of domains, through HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from httpx2 import Client, Response

from crofter.resources.domains.records import rules
from tests.observed import errors
from tests.resources.test_domains import DOMAINS, create

UNUSED = {"priority": 0, "weight": 0, "port": 0, "service": None, "protocol": None, "tag": None, "ttl_sec": 0}
CNAMES = [(None, "Record conflict - CNAMES must be unique")]


@pytest.fixture
def path(alice: Client) -> str:
    return f"{DOMAINS}/{create(alice)['id']}/records"


def add(client: Client, path: str, type: str, **body: Any) -> Response:
    return client.post(path, json={"type": type, **body})


def made(client: Client, path: str, type: str, **body: Any) -> dict[str, Any]:
    answer = add(client, path, type, **body)
    assert answer.status_code == 200, answer.text
    shown = dict(answer.json())
    for name in ("created", "updated"):
        assert shown.pop(name).startswith("20")
    return shown


@pytest.mark.both
def test_a_record_is_created_viewed_listed_changed_and_deleted(alice: Client, path: str) -> None:
    shown = made(alice, path, "A", name="www", target="192.0.2.1", ttl_sec=200, priority=7, service="x")
    assert shown == UNUSED | {"id": shown["id"], "type": "A", "name": "www", "target": "192.0.2.1", "ttl_sec": 300}
    record_path = f"{path}/{shown['id']}"
    assert shown.items() <= alice.get(record_path).json().items()
    assert alice.get(path).json()["results"] == 1
    changed = alice.put(record_path, json={"target": "192.0.2.2"}).json()
    assert (changed["target"], changed["name"], changed["ttl_sec"]) == ("192.0.2.2", "www", 300)
    assert alice.put(record_path, json=changed).json()["target"] == "192.0.2.2"
    assert alice.delete(record_path).json() == {}
    assert alice.get(record_path).status_code == 404
    events = alice.get("/v4/account/events").json()["data"]
    assert [event["action"] for event in events[:4]] == [
        "dns_record_delete",
        "dns_record_update",
        "dns_record_update",
        "dns_record_create",
    ]
    assert events[3]["message"] == "A www.example.org 192.0.2.1"
    assert (events[3]["entity"]["type"], events[3]["status"]) == ("domain", "notification")


@pytest.mark.parametrize(
    ("type", "sent", "shown"),
    [
        ("A", {"name": "", "target": "192.0.2.1"}, {"name": "", "target": "192.0.2.1"}),
        ("A", {"name": "@", "target": "[remote_addr]"}, {"name": "", "target": "127.0.0.1"}),
        ("A", {"name": "www.Example.org.", "target": "192.0.2.1"}, {"name": "www"}),
        ("A", {"name": "*.dev", "target": "192.0.2.1"}, {"name": "*.dev"}),
        ("AAAA", {"name": "www", "target": "2001:DB8::0:1"}, {"target": "2001:db8::1"}),
        ("NS", {"name": "sub", "target": "ns.example.net"}, {"target": "ns.example.net"}),
        ("MX", {"target": "mail.example.org.", "priority": 10}, {"target": "mail.example.org", "priority": 10}),
        ("MX", {"target": ""}, {"target": "", "priority": 0}),
        ("CNAME", {"name": "ftp", "target": "www.example.org"}, {"name": "ftp"}),
        ("TXT", {"name": "_dmarc", "target": 'v=DMARC1; "p"=none \\'}, {"target": 'v=DMARC1; "p"=none \\'}),
        (
            "SRV",
            {"service": "sip", "protocol": "_tcp", "target": "sip.example.org", "port": 5060, "weight": 5, "name": "x"},
            {"name": "_sip._tcp", "service": "_sip", "protocol": "_tcp", "port": 5060, "weight": 5},
        ),
        (
            "SRV",
            {"service": "ldap", "target": "rc", "port": 389},
            {"name": "_ldap._tcp", "service": "_ldap", "protocol": "_tcp", "port": 389, "target": "rc.example.org"},
        ),
        ("SRV", {"service": "ldap", "protocol": None, "target": ".", "port": 0}, {"protocol": "_tcp", "target": "."}),
        ("A", {"target": "192.0.2.1", "weight": 5, "port": 80, "priority": 3}, {"weight": 5, "port": 80}),
        ("MX", {"target": "mail", "weight": 5, "port": 25}, {"target": "mail", "weight": 5, "port": 25}),
        ("PTR", {"name": "5", "target": "host.example.org"}, {"name": "5"}),
        ("CAA", {"target": "ca.example.net", "tag": "issue"}, {"tag": "issue", "name": ""}),
        ("CAA", {"target": ";", "tag": "issuewild"}, {"tag": "issuewild", "target": ";"}),
        ("CAA", {"target": "mailto:a@example.org", "tag": "iodef"}, {"tag": "iodef"}),
    ],
)
def test_a_record_of_each_type(
    alice: Client, path: str, type: str, sent: dict[str, Any], shown: dict[str, Any]
) -> None:
    record = made(alice, path, type, **sent)
    assert shown.items() <= record.items()
    for name in ("priority", "weight", "port", "tag"):
        assert record[name] == shown.get(name, UNUSED[name])
    for name in ("service", "protocol"):
        assert (record[name] is None) == (type != "SRV")
    again = alice.put(f"{path}/{record['id']}", json=record).json()
    assert record.items() <= again.items()


def test_a_target_of_one_label_follows_the_name_of_its_domain(alice: Client, path: str) -> None:
    record = made(alice, path, "SRV", service="ldap", target="rc", port=389)
    moved = alice.put(path.removesuffix("/records"), json={"domain": "example.net"})
    assert moved.status_code == 200
    (listed,) = alice.get(path).json()["data"]
    assert listed["target"] == alice.get(f"{path}/{record['id']}").json()["target"] == "rc.example.net"
    lines = alice.get(f"{path.removesuffix('/records')}/zone-file").json()["zone_file"]
    assert any(line.endswith("SRV\t0 0 389 rc.example.net.") for line in lines)


def test_unused_numbers_make_no_second_record(alice: Client, path: str) -> None:
    record = made(alice, path, "A", name="www", target="192.0.2.1", weight=5)
    again = add(alice, path, "A", name="www", target="192.0.2.1", weight=6)
    assert (again.status_code, errors(again)) == (400, [(None, "Record conflict - the domain has this record already")])
    changed = alice.put(f"{path}/{record['id']}", json={"weight": 6, "port": 7}).json()
    assert (changed["weight"], changed["port"]) == (6, 7)


@pytest.mark.parametrize(
    ("type", "sent", "fields"),
    [
        ("A", {"name": "www"}, ["target"]),
        ("A", {"name": "www", "target": "2001:db8::1"}, ["target"]),
        ("A", {"name": "w w", "target": "host.example.org"}, ["name", "target"]),
        ("A", {"name": "a" * 101, "target": "192.0.2.1"}, ["name"]),
        ("AAAA", {"target": "192.0.2.1"}, ["target"]),
        ("AAAA", {"target": "[remote_addr]"}, ["target"]),
        ("AAAA", {"target": "fe80::1%eth0"}, ["target"]),
        ("NS", {"target": "no host"}, ["target"]),
        ("MX", {"target": "192.0.2.1"}, ["target"]),
        ("MX", {"target": "", "priority": 5, "name": "sub"}, ["name", "priority"]),
        ("MX", {"target": "mail.example.org", "priority": 256}, ["priority"]),
        ("CNAME", {"name": "", "target": "www.example.net"}, ["name"]),
        ("TXT", {"target": ""}, ["target"]),
        ("TXT", {"target": "ä" * 1025}, ["target"]),
        ("TXT", {"target": "x" * 2049}, ["target"]),
        ("SRV", {"target": "sip.example.org"}, ["port", "service"]),
        ("SRV", {"target": "rc", "service": "x", "protocol": ""}, ["port", "protocol"]),
        ("SRV", {"target": "", "service": "a b", "protocol": "tcp", "port": 65536}, ["target", "port", "service"]),
        ("CAA", {"target": "ca.example.net"}, ["tag"]),
        ("CAA", {"target": "ca.example.net", "tag": "iodef"}, ["target"]),
        ("CAA", {"target": "x", "tag": "other"}, ["tag"]),
        ("SOA", {"target": "x"}, ["type"]),
        ("A", {"target": "192.0.2.1", "ttl_sec": -1}, ["ttl_sec"]),
    ],
)
def test_what_a_record_cannot_be(alice: Client, path: str, type: str, sent: dict[str, Any], fields: list[str]) -> None:
    refused = add(alice, path, type, **sent)
    assert refused.status_code == 400
    assert [field for field, _ in errors(refused)] == fields
    assert alice.get(path).json()["results"] == 0


def test_a_cname_stands_alone_at_its_name(alice: Client, path: str) -> None:
    made(alice, path, "CNAME", name="www", target="example.net")
    assert errors(add(alice, path, "CNAME", name="WWW", target="example.com")) == CNAMES
    assert errors(add(alice, path, "A", name="www", target="192.0.2.1")) == CNAMES
    address = made(alice, path, "A", name="ftp", target="192.0.2.1")
    assert errors(add(alice, path, "CNAME", name="ftp", target="example.net")) == CNAMES
    assert errors(alice.put(f"{path}/{address['id']}", json={"name": "www"})) == CNAMES
    turned = alice.put(f"{path}/{address['id']}", json={"type": "CNAME", "target": "example.net"})
    assert turned.json()["type"] == "CNAME"


def test_a_null_mx_stands_alone(alice: Client, path: str) -> None:
    null = made(alice, path, "MX", target="")
    alone = [(None, "Record conflict - a null MX record must be the only MX record")]
    assert errors(add(alice, path, "MX", target="mail.example.org")) == alone
    assert made(alice, path, "TXT", target="x")["name"] == ""
    alice.delete(f"{path}/{null['id']}")
    made(alice, path, "MX", target="mail.example.org")
    assert errors(add(alice, path, "MX", target=".")) == alone


def test_the_same_record_is_had_once(alice: Client, path: str) -> None:
    made(alice, path, "A", name="www", target="192.0.2.1")
    other = made(alice, path, "A", name="www", target="192.0.2.2")
    same = [(None, "Record conflict - the domain has this record already")]
    assert errors(add(alice, path, "A", name="WWW", target="192.0.2.1", ttl_sec=300)) == same
    assert errors(alice.put(f"{path}/{other['id']}", json={"target": "192.0.2.1"})) == same
    made(alice, path, "TXT", name="www", target="abc")
    made(alice, path, "TXT", name="www", target="ABC")


def test_records_are_filtered_and_belong_to_their_domain(alice: Client, path: str) -> None:
    web = made(alice, path, "A", name="www", target="192.0.2.1")
    caa = made(alice, path, "CAA", target="ca.example.net", tag="issue")
    for wanted, expected in (
        ('{"name": "WWW"}', web),
        ('{"type": "CAA"}', caa),
        ('{"target": "192.0.2.1"}', web),
        ('{"tag": "issue"}', caa),
    ):
        data = alice.get(path, headers={"X-Filter": wanted}).json()["data"]
        assert [record["id"] for record in data] == [expected["id"]]
    other = create(alice, domain="other.org")
    assert alice.get(f"{DOMAINS}/{other['id']}/records/{web['id']}").status_code == 404
    assert alice.delete(f"{DOMAINS}/{other['id']}/records/{web['id']}").status_code == 404


def test_there_is_an_end_to_records(alice: Client, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_RECORDS", 2)
    for number in range(2):
        made(alice, path, "A", name=f"www{number}", target="192.0.2.1")
    limit = [(None, "Account Limit reached. Please open a support ticket.")]
    assert errors(add(alice, path, "A", name="more", target="192.0.2.1")) == limit
    monkeypatch.undo()
    monkeypatch.setattr(rules, "MOST_BYTES", 30)
    assert errors(add(alice, path, "TXT", target="x" * 20)) == limit
    made(alice, path, "TXT", target="x" * 5)


def test_the_zone_file(alice: Client, path: str) -> None:
    text = 'say "hi" \\ ; é' + "x" * 300
    made(alice, path, "A", name="www", target="192.0.2.1", ttl_sec=300)
    made(alice, path, "MX", target="mail", priority=10)
    made(alice, path, "TXT", target=text)
    made(alice, path, "SRV", service="sip", protocol="tcp", target="sip.example.net", port=5060, priority=1, weight=2)
    made(alice, path, "CAA", target="ca.example.net", tag="issue")
    made(alice, path, "TXT", name="two", target="a\nb")
    lines = alice.get(path.replace("records", "zone-file")).json()["zone_file"]
    assert lines[1:3] == ["$ORIGIN example.org.", "$TTL 86400"]
    soa = lines[3].split()
    assert soa[:5] == ["@", "IN", "SOA", "ns1.example.com.", "admin.example.org."]
    assert soa[6:] == ["14400", "14400", "1209600", "86400"]
    assert lines[4:] == [
        "@\tIN\tNS\tns1.example.com.",
        "@\tIN\tNS\tns2.example.com.",
        "www\t300\tIN\tA\t192.0.2.1",
        "@\tIN\tMX\t10 mail.example.org.",
        '@\tIN\tTXT\t"say \\"hi\\" \\\\ ; \\195\\169' + "x" * 240 + '" "' + "x" * 60 + '"',
        "_sip._tcp\tIN\tSRV\t1 2 5060 sip.example.net.",
        '@\tIN\tCAA\t0 issue "ca.example.net"',
        'two\tIN\tTXT\t"a\\010b"',
    ]
