"""Each alarm of the page is brought about on purpose, and seen in the metrics, and by Prometheus where it is there."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tools.walk.places import ROOT, Prometheus, listens, until
from tools.walk.steps import NEW, Walk

RULES = (ROOT / "deploy" / "prometheus" / "crofter.rules.yml").read_text()
EXPRESSIONS = dict(re.findall(r"- alert: (\w+)\n +expr: (.+)", RULES))
NAMES = list(EXPRESSIONS)
_PLAIN = re.compile(r"(max|min)(?: by \(\w+\))? ?\((crofter_\w+)\) (==|>) (\d+)")
"""The rules that need no memory of what was before. The walk does by itself what Prometheus does with them."""
_FAIL = (
    "UPDATE operation SET state = 'failed', finished = due, error = 'on purpose' WHERE id IN (SELECT id FROM operation "
)
_END_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
_END_OTHERS = f"{_END_ALL} AND pid <> pg_backend_pid()"
_FAST_CLOCK = (
    "CREATE SCHEMA fast",
    "CREATE FUNCTION fast.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE"
    " AS $$SELECT pg_catalog.clock_timestamp() + interval '3 days'$$",
)
_OLD_MAIL = "UPDATE operation SET created = created - 7200000 WHERE kind = 'mail.send'"
_OLD_BACKUP = (
    "INSERT INTO meta (name, value)"
    " VALUES ('last_backup', (extract(epoch FROM now()) * 1000 - 259200000)::bigint::text)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
NEED_HOSTS = {"CrofterHostAway", "CrofterHostFull", "CrofterCertificateEnds"}
"""Alarms that need real hosts. tests/test_installation_metrics.py checks their metrics."""
NEED_MAILS = {"CrofterOperationsHung", "CrofterMailWaits"}
"""Alarms of the long walk, which has a mail server. The short one keeps mails in the outbox."""
_BEFORE = "UPDATE operation SET due = due - %s WHERE state IN ('queued', 'waiting')"


class Alarms:
    """Raises them one after another; each is seen before the next."""

    def __init__(self, walk: Walk, prometheus: str | None) -> None:
        self._walk = walk
        self.seen: list[str] = []
        self._api = walk.apis[0]
        self._prometheus: Prometheus | None = None
        if prometheus is not None:
            api = [process.metrics_port for process in walk.apis]
            workers = [process.metrics_port for process in walk.workers]
            self._prometheus = Prometheus(prometheus, walk.folder, {"crofter": api, "crofter-worker": workers})
            walk._exits.callback(self._prometheus.close)
            until("Prometheus has looked", lambda: not self._prometheus or not self._prometheus.fires("CrofterDown"))

    def _see(self, name: str, in_metrics: Callable[[], Any] | None = None) -> None:
        """Wait for an alarm's condition, by its rule or by ``in_metrics`` if the rule looks back in time."""
        until(f"{name} in the metrics", in_metrics or (lambda: self._holds(name)))
        watching = self._prometheus
        if watching is not None:
            until(f"{name} by Prometheus", lambda: watching.fires(name))
        self.seen.append(name)

    def _holds(self, name: str) -> bool:
        rule = _PLAIN.fullmatch(EXPRESSIONS[name])
        assert rule, f"not a rule that the walk understands: {EXPRESSIONS[name]}"
        values = self._values(rule[2])
        if not values:
            return False
        value = max(values) if rule[1] == "max" else min(values)
        return value == float(rule[4]) if rule[3] == "==" else value > float(rule[4])

    def _values(self, name: str) -> list[float]:
        """Return all values of a metric from all servers."""
        every = [item for server in self._walk.apis for item in server.numbers().items()]
        return [value for key, value in every if key.partition("{")[0] == name]

    def raise_all(self, *, hung: bool) -> None:
        """In an order in which each can be seen. ``hung``: also a step past its deadline, which takes a minute."""
        plain = [name for name, expression in EXPRESSIONS.items() if _PLAIN.fullmatch(expression)]
        until(f"{', '.join(plain)} are silent", lambda: not any(self._holds(name) for name in plain))
        if hung:
            self._hung()
        self._no_worker(mails=hung)
        self._clock_ahead()
        self._clock()
        self._database()
        missing = set(NAMES) - set(self.seen) - NEED_HOSTS - (set() if hung else NEED_MAILS)
        assert not missing, f"not raised: {missing}"

    def _hung(self) -> None:
        """The mail server is slow, and a new user is to be invited."""
        person = {"username": "invited", "email": "invited@example.com", "restricted": True}
        assert self._walk.http.post("/v4/account/users", json=person).status_code == 200
        hung = 'crofter_operations_total{what="hung"}'
        self._see("CrofterOperationsHung", lambda: any(worker.numbers()[hung] for worker in self._walk.workers))

    def _database(self) -> None:
        """Block connections to the database, as during a restore, and send requests."""
        name = conninfo_to_dict(self._walk.database)["dbname"]
        elsewhere = make_conninfo(self._walk.database, dbname="postgres")
        with psycopg.connect(elsewhere, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())

            def refused() -> bool:
                # Over and over: a connection that was being made just then came in, and is seen only later.
                connection.execute(_END_ALL.encode(), (name,))
                return all(server.ask("/health/ready").status_code == 503 for server in self._walk.apis)

            try:
                until("every server is refused", refused)
                self._see("CrofterDatabaseAway")
                self._errors()
            finally:
                connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())
        until("it is served again", lambda: self._walk.http.get("/v4/account").status_code == 200)

    def _errors(self) -> None:
        """Every call is one: the share is reckoned from here on, as the rule does for some minutes."""
        before = self._requests()

        def refused() -> bool:
            assert self._walk.http.get("/v4/account").status_code == 503
            wrong, every = (now - then for now, then in zip(self._requests(), before, strict=True))
            watching = self._prometheus
            return wrong > 0.01 * every and (watching is None or watching.fires("CrofterErrors"))

        until("CrofterErrors", refused)
        self.seen.append("CrofterErrors")

    def _requests(self) -> tuple[float, float]:
        """Return the responses with 500 or 503 of all servers, and the total."""
        counts = [server.numbers() for server in self._walk.apis]
        answered = {
            (place, key): value
            for place, numbers in enumerate(counts)
            for key, value in numbers.items()
            if key.startswith("crofter_requests_total")
        }
        wrong = sum(value for (_, key), value in answered.items() if re.search(r'status="50[03]"', key))
        return wrong, sum(answered.values())

    def _degraded(self) -> Any:
        ready = self._api.ask("/health/ready")
        return ready if ready.json()["status"] == "degraded" else None

    def _backup_is_old(self) -> bool:
        return max(self._values("crofter_backup_age_seconds"), default=0) > 2 * 86_400

    def _no_worker(self, *, mails: bool) -> None:
        for worker in self._walk.workers:
            assert worker.stop() == 0
        self._see("CrofterNoWorker")
        self._see("CrofterDown", lambda: not any(listens(worker.metrics_port) for worker in self._walk.workers))
        # Readiness is cached for a second, and a scrape may have filled the cache.
        ready = until("servers are degraded", self._degraded)
        assert ready.status_code == 200, ready.text
        for number in range(8):
            made = self._walk.http.post("/v4/compute/instances", json={**NEW, "label": f"waits-{number}"})
            assert made.status_code == 200, made.text
        with psycopg.connect(self._walk.database, autocommit=True) as connection:
            if mails:
                self._mail_waits(connection)
            connection.execute(_OLD_BACKUP.encode())
            self._see("CrofterBackupOld", self._backup_is_old)
            connection.execute(_BEFORE.encode(), (90_000,))
            self._see("CrofterOperationsStuck")
            connection.execute(_BEFORE.encode(), (600_000,))
            self._see("CrofterQueueOld")
            before = max(self._values("crofter_operations_failed"))
            connection.execute(f"{_FAIL} WHERE kind LIKE 'compute%' AND state = 'queued' LIMIT 6)".encode())
            self._see("CrofterOperationsFailed", lambda: max(self._values("crofter_operations_failed")) - before > 5)

    def _mail_waits(self, connection: psycopg.Connection[Any]) -> None:
        """Let a mail wait for two hours while no worker sends mails."""
        person = {"username": "waiting", "email": "waiting@example.com", "restricted": True}
        assert self._walk.http.post("/v4/account/users", json=person).status_code == 200
        connection.execute(_OLD_MAIL.encode())
        self._see("CrofterMailWaits")

    def _clock_ahead(self) -> None:
        """New sessions of the database find a clock that is three days fast, as on a machine that was set forward."""
        name = conninfo_to_dict(self._walk.database)["dbname"]
        with psycopg.connect(self._walk.database, autocommit=True) as connection:
            for statement in _FAST_CLOCK:
                connection.execute(statement.encode())
            connection.execute(f'ALTER DATABASE "{name}" SET search_path = public, fast, pg_catalog'.encode())
            connection.execute(_END_OTHERS.encode(), (name,))
            try:
                self._see("CrofterClockAhead")
                self._see("CrofterPartFails")
            finally:
                connection.execute(f'ALTER DATABASE "{name}" RESET search_path'.encode())
                connection.execute(_END_OTHERS.encode(), (name,))
                connection.execute(b"DROP SCHEMA fast CASCADE")
        until("service time runs again", lambda: self._values("crofter_clock_ahead_seconds") in ([0.0], [0.0, 0.0]))
        until("it is served again", lambda: self._walk.http.get("/v4/account").status_code == 200)

    def _clock(self) -> None:
        """Move the stored time ahead, as a machine with a clock an hour fast does."""
        ahead = (
            "UPDATE meta SET value = jsonb_set(value::jsonb, '{machine}', to_jsonb((value::jsonb->>'machine')::bigint"
        )
        with psycopg.connect(self._walk.database, autocommit=True) as connection:
            connection.execute(f"{ahead} + 3600000))::text WHERE name = 'clock_mark'".encode())
        self._see("CrofterClockBehind")


class SlowMailServer:
    """Says its greeting letter by letter: no wait is long, and the step that sends a mail runs past its deadline."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"smtp://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            caller = self._listening.accept()[0]
            threading.Thread(target=self._greet, args=(caller,), daemon=True).start()

    def _greet(self, caller: socket.socket) -> None:
        with caller, suppress(OSError):
            for letter in b"220-" + b"." * 60:
                caller.sendall(bytes([letter]))
                time.sleep(5)
