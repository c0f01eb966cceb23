"""Each alarm of the page is brought about on purpose, and seen in the metrics, and by Prometheus where it is there."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx2
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tools.walk.places import ROOT, Process, Prometheus, until
from tools.walk.steps import NEW, Walk

RULES = (ROOT / "deploy" / "prometheus" / "crofter.rules.yml").read_text()
NAMES = re.findall(r"- alert: (\w+)", RULES)
_FAIL = (
    "UPDATE operation SET state = 'failed', finished = due, error = 'on purpose' WHERE id IN (SELECT id FROM operation "
)
_BEFORE = "UPDATE operation SET due = due - %s WHERE state IN ('queued', 'waiting')"


class Alarms:
    """Raises them one after another; each is seen before the next."""

    def __init__(self, walk: Walk, prometheus: str | None) -> None:
        self._walk = walk
        self.seen: list[str] = []
        self._api = walk.apis[0]
        self._quiet = walk._process(
            "closed", "serve", "--role", "api", "--port", "0", CROFTER_MAINTENANCE="closed today"
        )
        self._quiet.wait_until_ready()
        self._prometheus: Prometheus | None = None
        if prometheus is None:
            walk.say(
                "there is no Prometheus: alarms are seen in the metrics alone (Debian: apt-get install prometheus)"
            )
        else:
            api = [process.metrics_port for process in (*walk.apis, self._quiet)]
            workers = [process.metrics_port for process in walk.workers]
            self._prometheus = Prometheus(prometheus, walk.folder, {"crofter": api, "crofter-worker": workers})
            walk._exits.callback(self._prometheus.close)
            until("Prometheus has looked", lambda: not self._prometheus or not self._prometheus.fires("CrofterDown"))

    def close(self) -> None:
        """The server that refuses everybody has done its part."""
        assert self._quiet.stop() == 0

    def _see(self, name: str, in_metrics: Callable[[], Any]) -> None:
        until(f"{name} in the metrics", in_metrics)
        watching = self._prometheus
        if watching is not None:
            until(f"{name} by Prometheus", lambda: watching.fires(name))
        self.seen.append(name)

    def _gauge(self, name: str, process: Process | None = None) -> float:
        numbers = (process or self._api).numbers()
        return max((value for key, value in numbers.items() if key.partition("{")[0] == name), default=0.0)

    def raise_all(self, *, hung: bool) -> None:
        """In an order in which each can be seen. ``hung``: also a step past its deadline, which takes a minute."""
        if hung:
            self._hung()
        self._errors()
        self._no_worker()
        self._clock()
        self._database()
        missing = set(NAMES) - set(self.seen) - (set() if hung else {"CrofterOperationsHung"})
        assert not missing, f"not raised: {missing}"

    def _hung(self) -> None:
        """The mail server is slow, and a new user is to be invited."""
        person = {"username": "invited", "email": "invited@example.com", "restricted": True}
        assert self._walk.http.post("/v4/account/users", json=person).status_code == 200
        hung = 'crofter_operations_total{what="hung"}'
        self._see("CrofterOperationsHung", lambda: any(one.numbers()[hung] for one in self._walk.workers))

    def _database(self) -> None:
        """It lets nobody in, as when it is being restored."""
        name = conninfo_to_dict(self._walk.database)["dbname"]
        elsewhere = make_conninfo(self._walk.database, dbname="postgres")
        with psycopg.connect(elsewhere, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
            connection.execute(b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            try:
                self._see("CrofterDatabaseAway", lambda: self._api.numbers()["crofter_database_up"] == 0)
                assert httpx2.get(f"{self._api.inside}/health/ready", timeout=30).status_code == 503
            finally:
                connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())
        until("it is served again", lambda: self._walk.http.get("/v4/account").status_code == 200)

    def _errors(self) -> None:
        port = re.search(r"serves on http://127\.0\.0\.1:(\d+)", self._quiet.log())
        assert port, self._quiet.log()

        def refused() -> bool:
            for _ in range(5):
                answer = httpx2.get(f"http://127.0.0.1:{port[1]}/v4/regions", timeout=30)
                assert answer.status_code == 503
            numbers = self._quiet.numbers()
            return any(key.startswith("crofter_requests_total") and 'status="503"' in key for key in numbers)

        if self._prometheus is None:
            self._see("CrofterErrors", refused)
        else:
            until("CrofterErrors", lambda: refused() and self._prometheus and self._prometheus.fires("CrofterErrors"))
            self.seen.append("CrofterErrors")

    def _no_worker(self) -> None:
        for worker in self._walk.workers:
            assert worker.stop() == 0
        self._see("CrofterNoWorker", lambda: self._gauge("crofter_workers") == 0)
        self._see("CrofterDown", lambda: all(worker.process.poll() == 0 for worker in self._walk.workers))
        ready = httpx2.get(f"{self._api.inside}/health/ready", timeout=30)
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded"), ready.text
        for number in range(8):
            made = self._walk.http.post("/v4/compute/instances", json={**NEW, "label": f"waits-{number}"})
            assert made.status_code == 200, made.text
        with psycopg.connect(self._walk.database, autocommit=True) as connection:
            connection.execute(_BEFORE.encode(), (90_000,))
            self._see("CrofterOperationsStuck", lambda: self._gauge("crofter_operations_stuck") > 0)
            connection.execute(_BEFORE.encode(), (600_000,))
            self._see("CrofterQueueOld", lambda: self._gauge("crofter_queue_age_seconds") > 300)
            connection.execute(f"{_FAIL} WHERE kind LIKE 'compute%' AND state = 'queued' LIMIT 6)".encode())
            self._see("CrofterOperationsFailed", lambda: self._gauge("crofter_operations_failed") > 5)

    def _clock(self) -> None:
        """The mark of the latest time that was told is put ahead, as by a machine whose clock was an hour fast."""
        ahead = (
            "UPDATE meta SET value = jsonb_set(value::jsonb, '{machine}', to_jsonb((value::jsonb->>'machine')::bigint"
        )
        with psycopg.connect(self._walk.database, autocommit=True) as connection:
            connection.execute(f"{ahead} + 3600000))::text WHERE name = 'clock_mark'".encode())
        self._see("CrofterClockBehind", lambda: self._gauge("crofter_clock_behind_seconds") > 0)


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
