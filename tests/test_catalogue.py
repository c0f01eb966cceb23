"""The catalogue: what an operator's files may say, and what is said of those that cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from crofter import catalogue, registry
from crofter.catalogue import CatalogueError, files
from crofter.context import Context
from crofter.db import Session
from crofter.resources.images import store as images
from crofter.resources.kernels import store as kernels
from crofter.resources.regions import store as regions
from crofter.resources.types import store as types
from tests.cloud import Cloud
from tests.served import run

BUILT_IN = Path(catalogue.__file__).parent

TYPE = """
[[types]]
id = "tiny"
label = "Tiny"
class = "nanode"
vcpus = 1
memory = 512
disk = 4096
transfer = 100
network_out = 100
price = { hourly = 0.001, monthly = 0.5 }
backups = { hourly = 0, monthly = 0 }
"""
REGION = """
[[regions]]
id = "attic"
country = "de"
capabilities = ["Computes"]
resolvers = { ipv4 = "192.0.2.1", ipv6 = "2001:db8::1" }
"""
KERNEL = """
[[kernels]]
id = "compute/grub2"
label = "GRUB 2"
version = "2.06"
architecture = "x86_64"
built = 2021-08-10T14:00:00

[[kernels]]
id = "compute/latest-64bit"
label = "Latest"
version = "6.1"
architecture = "x86_64"
built = 2021-08-10T14:00:00
"""
IMAGE = """
[[images]]
id = "compute/tiny"
label = "Tiny"
vendor = "Tiny"
size = 100
created = 2021-08-10T14:00:00
"""
STACKSCRIPT = """
[[stackscripts]]
id = "tiny"
label = "Tiny"
created = 2021-08-10T14:00:00
script = "#!/bin/sh"
"""
TAX = """
[[taxes]]
id = "CH"
name = "VAT"
percent = 8.1
"""
PROMOTION = """
[[promotions]]
id = "TINY-5"
summary = "Five dollars"
credit = 5
monthly_cap = 2.5
days = 30
"""
FILES = {
    "types.toml": TYPE,
    "regions.toml": REGION,
    "kernels.toml": KERNEL,
    "images.toml": IMAGE,
    "stackscripts.toml": STACKSCRIPT,
    "taxes.toml": TAX,
    "promotions.toml": PROMOTION,
}


def complaint(folder: Path, name: str, text: str | bytes) -> str:
    """Return the error for a folder with this file."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CatalogueError) as caught:
        files.read(registry.CATALOGUE_TABLES, str(folder))
    return str(caught.value)


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def test_the_built_in_files_can_be_used() -> None:
    loaded = dict(
        zip(
            (table.name for table in registry.CATALOGUE_TABLES),
            files.read(registry.CATALOGUE_TABLES, None),
            strict=True,
        )
    )
    assert {"us-east", "us-west", "us-central", "us-southeast"} <= {region.id for region in loaded["regions"]}
    assert {"g6-nanode-1", "g6-standard-1", "g6-standard-2", "g6-standard-6", "g5-standard-4"} <= {
        plan.id for plan in loaded["types"]
    }
    assert sum(image.id.startswith("compute/ubuntu") for image in loaded["images"]) > 1
    assert sum(image.id.startswith("compute/alpine") for image in loaded["images"]) > 1


@pytest.mark.parametrize("name", FILES)
def test_an_operators_file_replaces_the_built_in_one_of_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name])
    own = dict(
        zip(
            (table.file for table in registry.CATALOGUE_TABLES),
            files.read(registry.CATALOGUE_TABLES, str(tmp_path)),
            strict=True,
        )
    )
    built_in = dict(
        zip(
            (table.file for table in registry.CATALOGUE_TABLES),
            files.read(registry.CATALOGUE_TABLES, None),
            strict=True,
        )
    )
    assert len(own[name]) == FILES[name].count("[[")
    assert {other: own[other] for other in own if other != name} == {
        other: built_in[other] for other in own if other != name
    }


def test_copies_of_the_built_in_files_say_the_same(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_text((BUILT_IN / name).read_text())
    assert files.read(registry.CATALOGUE_TABLES, str(tmp_path)) == files.read(registry.CATALOGUE_TABLES, None)


def test_a_folder_that_is_not_there_is_missed(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"nowhere: the catalogue folder is not there"):
        files.read(registry.CATALOGUE_TABLES, str(tmp_path / "nowhere"))


def test_a_misspelt_file_is_not_passed_over(tmp_path: Path) -> None:
    assert complaint(tmp_path, "type.toml", TYPE) == (
        f"{tmp_path}/type.toml: no catalogue file has this name; "
        "there are regions.toml, types.toml, kernels.toml, images.toml, stackscripts.toml, taxes.toml, promotions.toml"
    )


def test_other_files_in_the_folder_are_nobodys_business(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("ours")
    files.read(registry.CATALOGUE_TABLES, str(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe", "is not TOML: 'utf-8' codec can't decode"),
        ("[[types]", "is not TOML: "),
        ("types = " + "[" * 5000, "is not TOML: "),
        ("", "has no entries; each stands under [[types]]"),
        ("types = []", "has no entries; each stands under [[types]]"),
        ("types = 7", "has no entries; each stands under [[types]]"),
        ('[types]\nid = "tiny"', "has no entries; each stands under [[types]]"),
        ("types = [7]", "entry 1: expected `object`, got `int`"),
        (TYPE + '[[type]]\nid = "x"', "holds type, which means nothing here; entries stand under [[types]]"),
    ],
)
def test_a_file_that_is_no_catalogue_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert complaint(tmp_path, "types.toml", text).startswith(f"{tmp_path}/types.toml: {message}")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "types.toml").mkdir()
    with pytest.raises(CatalogueError, match=r"types\.toml: cannot be read: Is a directory"):
        files.read(registry.CATALOGUE_TABLES, str(tmp_path))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("types.toml", "vcpus = 1\n", "", "lacks `vcpus`"),
        ("types.toml", "vcpus = 1", "vcpus = 0", "vcpus: expected `int` >= 1"),
        ("types.toml", "vcpus = 1", "vcpu = 1", "has no `vcpu`"),
        ("types.toml", "vcpus = 1", 'vcpus = "1"', "vcpus: expected `int`, got `str`"),
        ("types.toml", "disk = 4096", "disk = 99999999999999", "disk: expected `int` <= 2147483647"),
        ("types.toml", 'class = "nanode"', 'class = "huge"', "class: invalid enum value 'huge'"),
        ("types.toml", "hourly = 0.001", "hourly = -1", "price: -1 is not an amount of money"),
        ("types.toml", "hourly = 0.001", "hourly = nan", "price: NaN is not an amount of money"),
        ("types.toml", "hourly = 0.001", "hourly = inf", "price: Infinity is not an amount of money"),
        ("types.toml", "hourly = 0.001", "hourly = 0.0000001", "price: 1E-7 has more than six digits after the point"),
        ("types.toml", "hourly = 0.001", "hourly = 1e12", "price: 1E+12 is not an amount of money"),
        ("types.toml", ", monthly = 0.5", "", "price: lacks `monthly`"),
        ("types.toml", 'id = "tiny"', 'id = "Tiny one"', "id: expected `str` matching regex"),
        ("types.toml", 'id = "tiny"', 'id = "tiny\\n"', "id: expected `str` matching regex"),
        ("types.toml", 'label = "Tiny"', 'label = ""', "label: expected `str` of length >= 1"),
        ("regions.toml", 'country = "de"', 'country = "Germany"', "country: expected `str` matching regex"),
        ("regions.toml", '["Computes"]', '["Compute"]', "capabilities[0]: invalid enum value 'Compute'"),
        ("regions.toml", '["Computes"]', "[]", "capabilities: expected `array` of length >= 1"),
        ("regions.toml", '"192.0.2.1"', '"192.0.2.1, here"', "resolvers: 'here' is not an IPv4 address"),
        ("regions.toml", '"2001:db8::1"', '"192.0.2.1"', "resolvers: '192.0.2.1' is not an IPv6 address"),
        ("kernels.toml", 'id = "compute/grub2"', 'id = "grub2"', "id: expected `str` matching regex"),
        ("kernels.toml", '"x86_64"', '"arm64"', "architecture: invalid enum value 'arm64'"),
        ("kernels.toml", "T14:00:00", "", "built: expected `datetime`, got `date`"),
        ("kernels.toml", "T14:00:00", "T14:00:00Z", "built: expected `datetime` with no timezone component"),
        ("images.toml", "size = 100", "size = 0", "size: expected `int` >= 1"),
        ("images.toml", 'id = "compute/tiny"', 'id = "private/7"', "id: expected `str` matching regex"),
        ("stackscripts.toml", '"#!/bin/sh"', '"echo"', "script: expected `str` matching regex"),
        ("stackscripts.toml", "/bin/sh", "/bin/sh <UDF name='x' />", "Line 1: the UDF x has no label"),
        ("stackscripts.toml", 'id = "tiny"', 'id = "Tiny"', "id: expected `str` matching regex"),
        ("taxes.toml", 'id = "CH"', 'id = "Switzerland"', "id: expected `str` matching regex"),
        ("taxes.toml", "percent = 8.1", "percent = 101", "percent: 101 is not between 0 and 100"),
        ("taxes.toml", "percent = 8.1", "percent = nan", "percent: NaN is not between 0 and 100"),
        ("taxes.toml", "percent = 8.1", "percent = 8.12345", "percent: 8.12345 has more than four digits"),
        ("promotions.toml", "credit = 5", "credit = 0", "0 is not a number of whole cents above 0"),
        ("promotions.toml", "credit = 5", "credit = 0.001", "0.001 is not a number of whole cents above 0"),
        ("promotions.toml", "days = 30", "days = 0", "days: expected `int` >= 1"),
        ("promotions.toml", 'id = "TINY-5"', 'id = "two words"', "id: expected `str` matching regex"),
        ("images.toml", 'label = "Tiny"', f'label = "{"x" * 33}"', "label: expected `str` of length <= 32"),
    ],
)
def test_a_wrong_entry_is_named_with_what_is_wrong(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    lines = complaint(tmp_path, file, replaced(FILES[file], old, new)).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{tmp_path}/{file}: entry 1")
    assert f": {message}" in lines[0]


@pytest.mark.parametrize("file", FILES)
def test_two_entries_with_one_id_are_refused(tmp_path: Path, file: str) -> None:
    assert "another entry has the same id" in complaint(tmp_path, file, FILES[file] + FILES[file])


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "images.toml").write_text(replaced(IMAGE, "size = 100", "size = true"))
    text = TYPE.replace("vcpus = 1", "vcpus = 0") + TYPE.replace("memory = 512", "")
    assert complaint(tmp_path, "types.toml", text).splitlines() == [
        f"{tmp_path}/types.toml: entry 1 (tiny): vcpus: expected `int` >= 1",
        f"{tmp_path}/types.toml: entry 2 (tiny): lacks `memory`",
        f"{tmp_path}/images.toml: entry 1 (compute/tiny): size: expected `int`, got `bool`",
    ]


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ('successor = "tiny"', "tiny: successor: only a deprecated type has one"),
        ("deprecated = true", "every type is deprecated: nothing could be created"),
    ],
)
def test_successors_belong_to_deprecated_types(tmp_path: Path, added: str, message: str) -> None:
    assert complaint(tmp_path, "types.toml", TYPE + added) == f"{tmp_path}/types.toml: {message}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({'successor = "tiny"': 'successor = "none"'}, "no current type of this file is called none"),
        ({'successor = "tiny"': 'successor = "old"'}, "no current type of this file is called old"),
        ({"disk = 4096": "disk = 4097"}, "tiny has less disk, so instances could not be upgraded to it"),
    ],
)
def test_a_successor_is_a_current_type_that_holds_as_much(
    tmp_path: Path, changes: dict[str, str], message: str | None
) -> None:
    old = TYPE.replace('id = "tiny"', 'id = "old"') + 'deprecated = true\nsuccessor = "tiny"\n'
    for before, after in changes.items():
        old = replaced(old, before, after)
    if message is None:
        (tmp_path / "types.toml").write_text(TYPE + old)
        files.read(registry.CATALOGUE_TABLES, str(tmp_path))
    else:
        assert complaint(tmp_path, "types.toml", TYPE + old) == f"{tmp_path}/types.toml: old: successor: {message}"


def test_the_kernels_that_the_service_boots_by_default_cannot_be_left_out(tmp_path: Path) -> None:
    text = replaced(KERNEL, "compute/grub2", "compute/grub3")
    assert complaint(tmp_path, "kernels.toml", text) == (
        f"{tmp_path}/kernels.toml: compute/grub2 is missing: it is what a deployment boots"
    )


def in_the_service(cloud: Cloud, folder: Path | None, look: Callable[[Context], None]) -> None:
    """Load the catalogue of a folder into a running server, look at it, and leave no trace."""

    class Undone(Exception):
        pass

    def load(db: Session) -> None:
        catalogue.load(db, registry.CATALOGUE_TABLES, None if folder is None else str(folder))
        look(Context(cloud.runtime, db))
        raise Undone

    with pytest.raises(Undone), cloud.runtime.database.write() as db:
        load(db)


@pytest.mark.both
def test_what_is_gone_from_the_files_is_offered_no_more_and_still_known(cloud: Cloud, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def look(ctx: Context) -> None:
        for store, gone, new in (
            (types, "g6-nanode-1", "tiny"),
            (regions, "us-east", "attic"),
            (kernels, "compute/direct-disk", "compute/grub2"),
            (images, "compute/debian12", "compute/tiny"),
        ):
            before = store.find(ctx, gone)
            assert before is not None
            assert not before.offered
            after = store.find(ctx, new)
            assert after is not None
            assert after.offered
            assert store.find(ctx, "never/was") is None

    in_the_service(cloud, tmp_path, look)


def test_an_outage_outlives_the_next_loading(cloud: Cloud) -> None:
    with cloud.runtime.database.write() as db:
        db.update(regions.region, {"slug": "us-east"}, status="outage")

    def look(ctx: Context) -> None:
        region = regions.find(ctx, "us-east")
        assert region is not None
        assert region.status == "outage"

    in_the_service(cloud, None, look)


def test_loading_twice_writes_nothing(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: cloud.admin.get(path).text for path in ("/v4/regions", "/v4/compute/types", "/v4/images")}
    for write in ("run", "update", "insert_rows"):
        monkeypatch.setattr(Session, write, None)
    with cloud.runtime.database.write() as db:
        catalogue.load(db, registry.CATALOGUE_TABLES, None)
    monkeypatch.undo()
    assert {path: cloud.admin.get(path).text for path in before} == before


def test_a_catalogue_with_a_mistake_changes_nothing(cloud: Cloud, tmp_path: Path) -> None:
    (tmp_path / "regions.toml").write_text(REGION)
    (tmp_path / "images.toml").write_text(replaced(IMAGE, "size = 100", "size = 0"))
    before = cloud.admin.get("/v4/regions").text
    with cloud.runtime.database.write() as db, pytest.raises(CatalogueError):
        catalogue.load(db, registry.CATALOGUE_TABLES, str(tmp_path))
    assert cloud.admin.get("/v4/regions").text == before


def test_a_server_does_not_start_on_a_catalogue_that_it_cannot_use(tmp_path: Path) -> None:
    (tmp_path / "types.toml").write_text(replaced(TYPE, "vcpus = 1", "vcpus = 0"))
    ended = run("serve", "--data", ":memory:", "--port", "0", env={"CROFTER_CATALOGUE": str(tmp_path)})
    assert ended.returncode == 1
    assert ended.stderr == f"crofter: {tmp_path}/types.toml: entry 1 (tiny): vcpus: expected `int` >= 1\n"
