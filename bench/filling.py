"""Many rows quickly: whole accounts of events, tags and instances, written in the database's own words."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import psycopg

from crofter.db.tally import BLOCK_BITS
from crofter.drivers.hypervisor.ledger.fleet import BLOCK, code_of

ACCOUNT, USER = 1, 1
RARE = 1000
"""Share of the events about the entity that the selective filter names."""
FEW = 50
"""Number of instances in the rare region and with the rare tag, in every size of account."""
RARE_REGION, RARE_TAG, COMMON_TAG = "us-west", "filled-1", "filled-2"
HOSTS = code_of("us-east") * BLOCK + 1
"""Where the simulated hosts of a region begin."""

_EVENTS = """
INSERT INTO event (account_id, user_id, username, action, status, created, message,
                   entity_type, entity_id, entity_label, entity_url)
SELECT {account}, {user}, 'admin', CASE WHEN n % 5 = 0 THEN 'compute_reboot' ELSE 'compute_boot' END, 'notification',
       {created}, '', 'compute', CAST(n % {rare} AS TEXT), 'web-1', '/v4/compute/instances/1'
FROM {numbers}
"""
_TAGS = "INSERT INTO tag (account_id, label) SELECT {account}, 'filled-' || n FROM {numbers}"
_INSTANCES = """
INSERT INTO instance (account_id, label, group_label, region, type, image, status, vcpus, memory, disk, transfer,
                      gpus, alerts, watchdog_enabled, backups_enabled, created, updated, host, migration_pending)
SELECT {account}, 'filled-' || n, '', CASE WHEN n <= {few} THEN '{rare_region}' ELSE 'us-east' END, 'g6-nanode-1',
       'compute/debian11', 'running', 1, 1024, 25600, 1000, 0,
       '{{"cpu":90,"io":10000,"network_in":10,"network_out":10,"transfer_quota":80}}',
       {yes}, {no}, {created}, {created}, {hosts} + n % 200, {no}
FROM {numbers}
"""
# Ids of filled rows equal the row numbers: the tables were empty.
_ADDRESSES = """
INSERT INTO address (address, account_id, instance_id, region, public, position, created)
SELECT '10.' || (n / 65536) || '.' || (n / 256 % 256) || '.' || (n % 256), {account}, n,
       CASE WHEN n <= {few} THEN '{rare_region}' ELSE 'us-east' END, {yes}, 1, {created}
FROM {numbers}
"""
_DISKS = """
INSERT INTO disk (account_id, instance_id, label, size, filesystem, status, reserved, created, updated)
SELECT {account}, n, 'Debian 11 Disk', 25600, 'ext4', 'ready', 25600, {created}, {created} FROM {numbers}
"""
_CONFIGS = """
INSERT INTO config (account_id, instance_id, label, devices, helpers, interfaces, kernel, memory_limit, root_device,
                    run_level, virt_mode, created, updated)
SELECT {account}, n, 'My Debian 11 Disk Profile', '{{"sda":{{"disk_id":' || n || '}}}}',
       '{{"devtmpfs_automount":true,"distro":true,"modules_dep":true,"network":true,"updatedb_disabled":true}}', '[]',
       'compute/grub2', 1024, '/dev/sda', 'default', 'paravirt', {created}, {created}
FROM {numbers}
"""
_TAGGED = """
INSERT INTO tagged (tag_id, kind, object_id)
SELECT (SELECT id FROM tag WHERE account_id = {account} AND label = '{tag}'), 'compute', n FROM {numbers} WHERE {which}
"""
_MACHINES = """
INSERT INTO hypervisor_thing (kind, id, host, doc, operation, fence)
SELECT 'domain', n, {hosts} + n % 200,
       '{{"spec":{{"vcpus":1,"memory":1024}},"on":true,"reason":null,"active":{{"vcpus":1,"memory":1024}}}}', 0, 0
FROM {numbers}
"""
_DRIVES = """
INSERT INTO hypervisor_thing (kind, id, host, doc, operation, fence)
SELECT 'disk', n, {hosts} + n % 200,
       '{{"size":25600,"filesystem":"ext4","used":800,"content":"","ready":true,"user":' || n || '}}', 0, 0
FROM {numbers}
"""
COUNTED = ("event", "tag", "instance")
_RECOUNT = """
DELETE FROM tally WHERE counted = '{counted}';
INSERT INTO tally (counted, owner, block, amount)
SELECT '{counted}', account_id, id >> {bits}, count(*) FROM {counted} GROUP BY 2, 3
"""
_ROWS = (
    _EVENTS,
    _TAGS,
    _INSTANCES,
    _ADDRESSES,
    _DISKS,
    _CONFIGS,
    _TAGGED.replace("{tag}", RARE_TAG).replace("{which}", "n <= {few}"),
    _TAGGED.replace("{tag}", COMMON_TAG).replace("{which}", "n % 5 = 0"),
    _MACHINES,
    _DRIVES,
)
_SQLITE = {
    "numbers": "(WITH RECURSIVE counted(n) AS (SELECT ? + 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?)"
    " SELECT n FROM counted)",
    # Spread over the last sixty days, in the order of the ids.
    "created": "strftime('%Y-%m-%dT%H:%M:%S', 'now', '-60 days', '+' || (n * 5) || ' seconds')",
    "yes": "1",
    "no": "0",
}
_POSTGRESQL = {
    "numbers": "generate_series(%s::bigint + 1, %s::bigint) AS n",
    "created": "to_char(timezone('utc', now()) - interval '60 days' + n * interval '5 seconds',"
    """ 'YYYY-MM-DD"T"HH24:MI:SS')""",
    "yes": "true",
    "no": "false",
}


def fill_sqlite(folder: Path, present: int, rows: int) -> None:
    """From ``present`` filled rows to ``rows``, in a database that no server has open."""
    connection = apsw.Connection(str(folder / "crofter.db"))
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-256000")
    with connection:
        for statement in _statements(_SQLITE):
            connection.execute(statement, (present, rows))
        for counted in COUNTED:
            connection.execute(_RECOUNT.format(counted=counted, bits=BLOCK_BITS))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def fill_events(folder: Path, present: int, rows: int) -> None:
    """Fill events, the largest table."""
    connection = apsw.Connection(str(folder / "crofter.db"))
    with connection:
        connection.execute(_statements(_SQLITE)[0], (present, rows))
        connection.execute(_RECOUNT.format(counted="event", bits=BLOCK_BITS))
    connection.close()


def fill_postgresql(address: str, present: int, rows: int) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        # A row that is changed a million times in one go gets slower each time, so they are counted afterwards.
        connection.execute("SET session_replication_role = replica")
        for statement in _statements(_POSTGRESQL):
            connection.execute(statement.replace("% ", "%% ").encode(), (present, rows))
        for counted in COUNTED:
            connection.execute(_RECOUNT.format(counted=counted, bits=BLOCK_BITS).encode())
        connection.execute("VACUUM ANALYZE")


def _statements(words: dict[str, str]) -> list[str]:
    chosen = {"rare": RARE, "few": FEW, "rare_region": RARE_REGION, "hosts": HOSTS}
    return [statement.format(account=ACCOUNT, user=USER, **chosen, **words) for statement in _ROWS]


def copy(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to
