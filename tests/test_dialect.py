"""A dialect: the interface under another word, with the answers that other versions of its family give."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from msgspec import Raw

from crofter.cli.serve import serve
from crofter.config import load as settings
from crofter.dialect import DialectError
from crofter.dialect.file import MOUNTED, load
from crofter.dialect.inserts import Inserts
from crofter.dialect.rules import Rule, Tree
from crofter.edge.app import App
from crofter.edge.openapi.recorded import recorded
from crofter.registry import ENDPOINTS
from tests import disguise
from tests.cloud import Cloud

DIALECT = """
[words]
compute = "wug"

[[answers]]
path = "/v4/compute/instances/{computeId}"
field = "placement.group"
add = { id = 7, type = "compute" }

[[answers]]
path = "/v4/compute/instances"
method = "GET"
field = "data[].lke_cluster_id"
add = 0

[[answers]]
path = "/compute/instances/*/ips"
field = "ipv6.global"
list = true

[[answers]]
path = "/v4/compute/instances"
field = "data[].status"
while = "compute_resize"
value = "growing"

[[answers]]
path = "/v4/compute/instances/{computeId}"
field = "status"
while = "compute_resize"
value = "growing"

[[aliases]]
path = "/v4/machines"
to = "/v4/compute/instances"

[[aliases]]
path = "/machinery"
to = "/compute/types"

[[aliases]]
path = "/v5/boxes/{id}/restart"
to = "/v4/compute/instances/{computeId}/reboot"
"""
METHODS = ("get", "post", "put", "delete")
INSTANCE = {"type": "g6-nanode-1", "region": "us-east"}
DEPLOYED = {**INSTANCE, "image": "wug/debian11", "root_pass": "a-long-Winding-r0ad"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("dialect") / "dialect.toml"
    file.write_text(DIALECT)
    return file


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def cloud(request: pytest.FixtureRequest, file: Path) -> Iterator[Cloud]:
    address = None
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres_server")
        address = server.address(server.create())
    cloud = Cloud(address, dialect=str(file), disguised=None)
    yield cloud
    cloud.close()


@pytest.fixture
def client(cloud: Cloud) -> httpx2.Client:
    return cloud.person()


def made(client: httpx2.Client, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v4/wug/instances", json={**INSTANCE, **fields})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def filtered(client: httpx2.Client, path: str, **terms: Any) -> httpx2.Response:
    return client.get(path, headers={"X-Filter": json.dumps(terms)})


def test_paths_names_values_actions_and_ids_are_in_the_dialects_words(cloud: Cloud, client: httpx2.Client) -> None:
    instance = client.post("/v4/wug/instances", json=DEPLOYED).json()
    assert (instance["image"], instance["label"]) == ("wug/debian11", f"wug{instance['id']}")
    [event] = client.get("/v4/account/events").json()["data"]
    assert (event["action"], event["entity"]["type"]) == ("wug_create", "wug")
    assert event["entity"]["url"] == f"/v4/wug/instances/{instance['id']}"
    image = event["secondary_entity"]
    assert (image["id"], image["url"]) == ("wug/debian11", "/v4/images/wug/debian11")
    assert client.get("/v4/images/wug/debian11").json()["created_by"] == "wug"
    assert "GPU Wugs" in client.get("/v4/regions/us-east").json()["capabilities"]
    assert client.get("/v4/wug/types/g6-standard-1").json()["label"] == "Wug 2GB"
    assert client.get("/v4beta//wug/kernels/wug%2Fgrub2/").json()["id"] == "wug/grub2"
    cloud.settle()
    volume = client.post("/v4/volumes", json={"label": "a", "wug_id": instance["id"]}).json()
    assert (volume["wug_id"], volume["wug_label"]) == (instance["id"], instance["label"])


def test_the_interfaces_own_word_is_then_just_text(client: httpx2.Client) -> None:
    for path in ("/v4/compute/instances", "/v4/%63ompute/instances", "/v4/images/compute/debian11"):
        assert client.get(path).status_code == 404, path
    refused = client.post("/v4/wug/instances", json={**DEPLOYED, "image": "compute/debian11"})
    assert refused.json() == {"errors": [{"reason": "image is not valid", "field": "image"}]}
    assert client.post("/v4/volumes", json={"label": "a", "compute_id": 1, "size": 20}).json()["errors"] == [
        {"reason": "Must provide a region or a Wug ID"}
    ]
    for name in ("compute_x", "wug_x"):
        refused = filtered(client, "/v4/account/events", **{name: 1})
        assert refused.json()["errors"] == [{"reason": f"Cannot filter on {name}", "field": "X-Filter"}]
    refused = client.post("/v4/profile/tokens", json={"scopes": "computes:read_only"})
    assert refused.json()["errors"] == [{"reason": "computes:read_only is not a scope", "field": "scopes"}]


def test_filters_and_names_in_escapes_are_understood(client: httpx2.Client) -> None:
    instance = made(client, label="compute", tags=["wug", "compute"])
    path = "/v4/account/events"
    assert filtered(client, path, action="wug_create").json()["results"] == 1
    assert filtered(client, path, action="compute_create").json()["results"] == 0
    nested = {"+or": [{"action": {"+contains": "wug_c"}}, {"entity.type": "tag"}], "+order_by": "action"}
    assert filtered(client, path, **nested).json()["results"] == 3
    assert filtered(client, path, **{"entity.type": "tag", "entity.id": "wug"}).json()["results"] == 1
    assert filtered(client, "/v4/wug/instances", label="compute", tags="wug").json()["results"] == 1
    assert filtered(client, "/v4/networking/ips", wug_id=instance["id"]).json()["results"] == 3
    body = b'{"label": "escaped", "\\u0077ugs": [%d]}' % instance["id"]
    kind = {"Content-Type": "application/json"}
    assert client.post("/v4/tags", content=body, headers=kind).status_code == 200
    assert client.get("/v4/tags/escaped").json()["data"][0]["type"] == "wug"


def test_headers_refusals_plans_and_repeated_answers_are_in_its_words(cloud: Cloud) -> None:
    owner = cloud.account()
    scoped = cloud.client(cloud.token(owner["username"], "computes:read_only"))
    refused = scoped.post("/v4/wug/instances", json=INSTANCE)
    assert refused.status_code == 403
    assert refused.headers["x-oauth-scopes"] == "wugs:read_only"
    assert refused.headers["x-accepted-oauth-scopes"] == "wugs:read_write"
    assert 'scope="wugs:read_write"' in refused.headers["www-authenticate"]
    client = cloud.client(owner["token"])
    plan = client.post("/v4/wug/instances", json=DEPLOYED, headers={"Prefer": "plan"}).json()["plan"]
    assert plan["events"] == ["wug_create"]
    assert plan["objects"][0]["url"].startswith("/v4/wug/instances/")
    answers = [client.post("/v4/wug/instances", json=DEPLOYED, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert b"wug/debian11" in answers[0].content
    assert answers[1].headers["idempotent-replayed"] == "true"
    number = answers[0].json()["id"]
    assert client.post(f"/v4/wug/instances/{number}/reboot").json() == {"errors": [{"reason": "Wug busy."}]}
    whole, head = (client.request(method, f"/v4/wug/instances/{number}") for method in ("GET", "HEAD"))
    assert whole.headers["content-length"] == head.headers["content-length"] == str(len(whole.content))


def test_events_that_are_waited_for_and_streamed_are_in_its_words(client: httpx2.Client) -> None:
    made(client, label="compute")
    [event] = client.get("/v4/account/events?wait=5").json()["data"]
    assert event["action"] == "wug_create"
    with client.stream("GET", "/v4/account/events/stream?after=0") as stream:
        data = next(line for line in stream.iter_lines() if line.startswith("data: "))
    streamed = json.loads(data.removeprefix("data: "))
    assert (streamed["action"], streamed["entity"]["label"]) == ("wug_create", "compute")


@pytest.mark.both
def test_rules_add_fields_wrap_values_and_show_others_meanwhile(cloud: Cloud, client: httpx2.Client) -> None:
    cloud.freeze()
    first, second = made(client), made(client)
    cloud.settle()
    path = f"/v4/wug/instances/{first['id']}"
    assert client.get(path).json()["placement"] == {"group": {"id": 7, "type": "compute"}}
    assert client.get("/v4/wug/instances").json()["data"][1]["lke_cluster_id"] == 0
    assert "lke_cluster_id" not in first
    assert client.get(f"{path}/ips").json()["ipv6"]["global"] == []
    target = client.get(f"{path}/ips").json()["ipv6"]["slaac"]["address"]
    assert (
        client.post("/v4/networking/ipv6/ranges", json={"prefix_length": 64, "wug_id": first["id"]}).status_code == 200
    )
    [routed] = client.get(f"{path}/ips").json()["ipv6"]["global"]
    assert routed["route_target"] == target
    assert client.post(f"/v4/wug/instances/{second['id']}/resize", json={"type": "g6-standard-1"}).status_code == 200
    shown = {item["id"]: item["status"] for item in client.get("/v4/wug/instances").json()["data"]}
    assert shown == {first["id"]: "offline", second["id"]: "growing"}
    assert client.get(f"/v4/wug/instances/{second['id']}").json()["status"] == "growing"
    cloud.settle()
    assert client.get(f"/v4/machines/{second['id']}/").json()["status"] == "offline"
    cloud.sandbox.post("/_sandbox/clock/thaw")


def test_an_alias_leads_to_what_it_stands_for_and_to_all_below(client: httpx2.Client) -> None:
    number = client.post("/v4/machines", json=INSTANCE).json()["id"]
    assert client.get(f"/v4/machines/{number}/disks").json()["results"] == 0
    assert client.get("/v4/machines").json()["data"][0]["lke_cluster_id"] == 0
    refused = client.post(f"/v5/boxes/{number}/restart")
    assert refused.json()["errors"][0]["reason"].startswith("This Wug has no configuration profile")
    assert client.get(f"/v5/boxes/{number}").status_code == 404
    for version in ("v4", "v4beta"):
        assert client.get(f"/{version}/machinery/g6-nanode-1").json()["id"] == "g6-nanode-1"


def test_the_description_and_the_login_service_are_in_its_words(cloud: Cloud) -> None:
    described = cloud.sandbox.get("/openapi.json")
    assert "/wug/instances/{wugId}" in described.json()["paths"]
    written = '"type": "compute"'  # written by the dialect's author and shown unchanged
    assert not re.search("compute(?!d)", described.text.replace(written, ""), re.IGNORECASE)
    page = cloud.sandbox.get("/docs").text
    assert "/wug/instances" in page
    assert not re.search("compute(?!d)", page, re.IGNORECASE)
    metadata = cloud.sandbox.get("/.well-known/oauth-authorization-server").json()
    assert "wugs:read_only" in metadata["scopes_supported"]
    assert "computes:read_only" not in metadata["scopes_supported"]


def test_the_description_shows_what_rules_change_and_where_aliases_lead(cloud: Cloud) -> None:
    document = cloud.sandbox.get("/openapi.json").json()
    paths = document["paths"]

    def answer(path: str, method: str = "get") -> dict[str, Any]:
        return dict(paths[path][method]["responses"]["200"]["content"]["application/json"]["schema"])

    instance = answer("/wug/instances/{wugId}")["properties"]
    assert instance["placement"]["properties"]["group"]["const"] == {"id": 7, "type": "compute"}
    assert "growing" in instance["status"]["enum"]
    assert "`growing` while wug_resize is under way" in instance["status"]["description"]
    listed = answer("/wug/instances")["properties"]["data"]["items"]["properties"]
    assert listed["lke_cluster_id"]["const"] == 0
    assert "growing" in listed["status"]["enum"]
    assert "growing" not in document["components"]["schemas"]["InstanceView"]["properties"]["status"]["enum"]
    assert "placement" in answer("/wug/instances/{wugId}", "put")["properties"]
    assert answer("/wug/instances/{wugId}/ips")["properties"]["ipv6"]["properties"]["global"]["type"] == "array"
    assert paths["/machines/{wugId}/boot"]["post"]["operationId"] == "boot_instance_at_machines"
    assert [server["url"] for server in paths["/machines"]["servers"]] == [f"{cloud.url}/v4"]
    assert [server["url"] for server in paths["/machinery"]["servers"]] == [f"{cloud.url}/v4", f"{cloud.url}/v4beta"]
    assert [part["name"] for part in paths["/boxes/{id}/restart"]["parameters"]] == ["id"]
    assert "/boxes/{id}" not in paths
    names = [item[method]["operationId"] for item in paths.values() for method in item if method in METHODS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("page", ["/openapi.json", "/docs"])
def test_pages_about_the_interface_answer_every_method_in_their_words(cloud: Cloud, page: str) -> None:
    asked = cloud.sandbox.head(page)
    assert (asked.status_code, asked.content) == (200, b"")
    refused = cloud.sandbox.post(page)
    assert refused.status_code == 405
    assert refused.json()["errors"] == [{"reason": "Method Not Allowed"}]


def test_no_answer_has_the_interfaces_own_word_in_it(cloud: Cloud) -> None:
    """Search all responses of an account whose texts do not contain the word."""
    client = cloud.person(managed=True)
    instance = client.post("/v4/wug/instances", json={**DEPLOYED, "private_ip": True, "backups_enabled": True}).json()
    cloud.settle()
    path = f"/v4/wug/instances/{instance['id']}"
    made_of: dict[str, dict[str, Any]] = {
        "/v4/volumes": {"label": "data", "wug_id": instance["id"]},
        "/v4/networking/firewalls": {
            "label": "wall",
            "rules": {"inbound_policy": "DROP", "outbound_policy": "DROP"},
            "devices": {"wugs": [instance["id"]]},
        },
        "/v4/nodebalancers": {"region": "us-east", "label": "balancer"},
        "/v4/support/tickets": {"summary": "a", "description": "b", "wug_id": instance["id"]},
        "/v4/tags": {"label": "tagged", "wugs": [instance["id"]]},
        "/v4/account/users": {"username": "restricted", "email": "a@b.example", "restricted": True},
        "/v4/account/entity-transfers": {"entities": {"wugs": [made(client)["id"]]}},
        "/v4/profile/tokens": {"scopes": "wugs:read_only"},
    }
    for where, body in made_of.items():
        answer = client.post(where, json=body)
        assert answer.status_code == 200, (where, answer.text)
    cloud.fault("maintenance", compute_id=instance["id"], type="reboot", when="2030-01-01T00:00:00", reason="r")
    cloud.settle()
    assert client.post(f"{path}/backups", json={"label": "s"}).status_code == 200
    read, wrong = 0, []
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET" and "stream" not in endpoint.path:
            where = f"/v4beta/{endpoint.path}".replace("compute/", "wug/").replace("compute-", "wug-")
            where = where.replace("{compute_id}", str(instance["id"])).replace("{label}", "tagged")
            where = where.replace("{image_id:path}", "wug/debian11").replace("{kernel_id:path}", "wug/grub2")
            where = where.replace("{username}", "restricted").replace("{region_id}", "us-east")
            answer = client.get(re.sub(r"\{[^}]*\}", "1", where))
            read += answer.status_code == 200
            # The word that the dialect file itself has there is left out.
            text_and_headers = f"{answer.text} {answer.headers}".replace('"type":"compute"}}', "")
            if "comput" in text_and_headers.lower():
                wrong.append((where, re.findall(".{40}comput.{20}", text_and_headers, re.IGNORECASE)))
    assert wrong == []
    assert read > 50


def test_a_request_may_ask_for_the_interfaces_own_words(cloud: Cloud, client: httpx2.Client) -> None:
    """As the console does, whose calls are the same on every server."""
    own = cloud.client(cloud.account()["token"], **{"X-Dialect": "none"})
    sent = {**INSTANCE, "image": "compute/debian11", "root_pass": DEPLOYED["root_pass"]}
    answer = own.post("/v4/compute/instances", json=sent)
    instance = answer.json()
    assert (answer.status_code, instance["image"]) == (200, "compute/debian11")
    assert answer.headers["x-accepted-oauth-scopes"] == "computes:read_write"
    assert "placement" not in instance
    cloud.settle()
    volume = own.post("/v4/volumes", json={"label": "a", "compute_id": instance["id"]}).json()
    assert volume["compute_id"] == instance["id"]
    listed = filtered(own, "/v4/compute/instances", image="compute/debian11").json()["data"]
    assert [each["id"] for each in listed] == [instance["id"]]
    assert "lke_cluster_id" not in listed[0]
    [event] = filtered(own, "/v4/account/events", action="compute_create").json()["data"]
    assert event["entity"]["url"] == f"/v4/compute/instances/{instance['id']}"
    with own.stream("GET", "/v4/account/events/stream?after=0") as stream:
        assert '"action":"compute_create"' in next(line for line in stream.iter_lines() if line.startswith("data:"))
    refused = own.post("/v4/volumes", json={"label": "b", "wug_id": 1, "size": 20}).json()["errors"]
    assert refused == [{"reason": "Must provide a region or a Compute ID"}]
    for path in ("/v4/wug/instances", "/v4/machines", "/v4/images/wug/debian11"):
        assert own.get(path).status_code == 404, path
    for other in ("wug", ""):
        own.headers["X-Dialect"] = other
        assert own.get("/v4/machines").status_code == 200, other


def test_without_a_dialect_there_is_nothing_of_it() -> None:
    cloud = Cloud(disguised=None)
    try:
        assert type(cloud.application.app) is App
    finally:
        cloud.close()


def test_paths_beside_the_interface_cannot_be_aliases(cloud: Cloud) -> None:
    assert set(cloud.application.app.parts.mounts) <= set(MOUNTED)


def test_added_fields_are_inserted_without_reading_the_objects() -> None:
    """With the same result as if the objects were read; only what depends on their values is left to that."""
    [endpoint] = [each for each in ENDPOINTS if each.name == "list_instances"]
    fields = ("data", "[]")
    rules = [
        Rule((*fields, "status"), (*fields, "status"), "while", Raw(b'"x"'), "compute_resize"),
        Rule((*fields, "hypervisor"), (*fields, "hypervisor"), "list"),
        *(Rule((*fields, *names), (*fields, *names), "add", Raw(b"7")) for names in ADDED),
        Rule((*fields, "hypervisor", "a"), (*fields, "hypervisor", "a"), "add", Raw(b"0")),
    ]
    inserts = Inserts(rules, endpoint.answers, None)
    assert inserts.rest == [*rules[:2], rules[-1]]
    answer: Any = recorded("list_instances").answer
    instance = answer["data"][0]
    body = msgspec.json.encode(answer)
    events: list[dict[str, set[str]]] = [{}, {"compute_resize": {f"/v4/compute/instances/{instance['id']}"}}]
    for under_way in events:
        by_reading = Tree(rules).apply(body, "/v4/compute/instances", under_way)
        by_inserts = Tree(inserts.rest).apply(inserts.apply(body), "/v4/compute/instances", under_way)
        assert json.loads(by_inserts) == json.loads(by_reading)
        shown = json.loads(by_inserts)["data"][0]
        assert shown["placement"] == {"group": 7, "zone": {"name": 7}}
        assert (shown["hypervisor"], shown["status"]) == (
            [instance["hypervisor"]],
            "x" if under_way else instance["status"],
        )


ADDED = (("plain",), ("placement", "group"), ("placement", "zone", "name"), ("placement", "group"))

WRONG = [
    ("[words\n", 1, "not TOML"),
    ('[wrods]\ncompute = "a"\n', 1, "there is no wrods here"),
    ('[words]\n\nvolume = "abc"\n', 3, "there is no volume here, only compute"),
    ("[words]\ncompute = 5\n", 2, "compute is a text"),
    ('[words]\ncompute = "W"\n', 2, "2 to 32 small letters"),
    ('[words]\ncompute = "disk"\n', 2, "'disk' is a word of the interface already"),
    ('[words]\ncompute = "compute"\n', 2, "is a word of the interface already"),
    ('# one\n[[answers]]\nfield = "a"\nadd = 1\n', 2, "path is missing"),
    ('[[answers]]\npath = "/v4/nowhere"\nfield = "a"\nadd = 1\n', 2, "the interface has no /v4/nowhere"),
    ('[[answers]]\npath = "/v4/tags"\nfield = "a..b"\nadd = 1\n', 3, "is no field"),
    ('[[answers]]\npath = "/v4/tags"\nfield = "a"\n', 1, "one of add, list and while"),
    ('[[answers]]\npath = "/v4/tags"\nfield = "a"\nadd = 1\nlist = true\n', 5, "one of add, list and while"),
    ('[[answers]]\npath = "/v4/tags"\nfield = "data[].lable"\nlist = true\n', 3, "has a field data[].lable"),
    ('[[answers]]\npath = "/v4/tags"\nfield = "label"\nlist = 1\n', 4, "list is true"),
    ('[[answers]]\npath = "/v4/tags"\nfield = "label"\nwhile = "tag_boot"\nvalue = 1\n', 4, "no event has the action"),
    ('[[answers]]\npath = "/v4/tags"\nfield = "label"\nwhile = "tag_create"\n', 1, "value and while go together"),
    ('[[answers]]\npath = "/v4/tags"\nfield = "a"\nadd = 2026-01-01\n', 4, "no dates"),
    ('[[answers]]\npath = "/v4/tags"\nmethod = "GTE"\nfield = "a"\nadd = 1\n', 3, "method is one of"),
    ('[[aliases]]\npath = "/v4/a"\nto = "/v4/b"\n', 3, "the interface has no /v4/b"),
    ('[[aliases]]\npath = "a"\nto = "/v4/tags"\n', 2, "'a' is no path"),
    ('[[aliases]]\npath = "/v4/volumes/"\nto = "/v4/tags"\n', 2, "is no path"),
    ('[[aliases]]\npath = "/v4/volumes"\nto = "/v4/tags"\n', 2, "which the alias would hide"),
    ('[[aliases]]\npath = "/v4/tags/mine"\nto = "/v4/volumes"\n', 2, "which the alias would hide"),
    ('[[aliases]]\npath = "/v4"\nto = "/v4beta"\n', 2, "which the alias would hide"),
    ('[[aliases]]\npath = "/docs/a"\nto = "/v4/tags"\n', 2, "which the alias would hide"),
    ('[[aliases]]\npath = "/v4/a/{b}"\nto = "/v4/tags"\n', 2, "as many parameters"),
    (
        '[words]\ncompute = "wug"\n[[aliases]]\npath = "/v4/wug/types"\nto = "/v4/tags"\n',
        4,
        "which the alias would hide",
    ),
    (
        '[[aliases]]\npath = "/v4/a"\nto = "/v4/tags"\n[[aliases]]\npath = "/v4/a"\nto = "/v4/volumes"\n',
        5,
        "would hide",
    ),
    ("answers = 5\n", 1, "answers are tables"),
]


@pytest.mark.parametrize(("text", "line", "reason"), WRONG)
def test_a_wrong_file_is_refused_with_its_line_and_a_reason(text: str, line: int, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(DialectError, match=re.escape(reason)) as refused:
        load(str(file), ENDPOINTS)
    assert str(refused.value).startswith(f"{file}:{line}: ")


def test_a_server_does_not_start_with_a_wrong_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "none.toml"
    assert serve(settings({"data": ":memory:", "port": 0, "log": "off"}, {"CROFTER_DIALECT": str(file)})) == 1
    assert capsys.readouterr().err == f"{file}:1: cannot be read: No such file or directory\n"


def test_the_old_way_to_run_the_tests_is_as_long_as_the_new_one() -> None:
    """A test that fills a field to its last character must still do so in disguise."""
    assert len(disguise.word(Path(__file__).with_name("dialect.toml"))) == len("compute")
