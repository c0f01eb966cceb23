"""SIGHUP: certificates and log level are reloaded, and connections stay open."""

from __future__ import annotations

import json
import os
import signal
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.served import Process, serving


def write_certificate(folder: Path, serial: int) -> None:
    """A key and a certificate for it, in the place of those before."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "key.pem").write_bytes(private)
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def serial_of(server: Process) -> int:
    address = urlsplit(server.url)
    assert address.hostname is not None
    assert address.port is not None
    shown = ssl.get_server_certificate((address.hostname, address.port), timeout=30)
    return x509.load_pem_x509_certificate(shown.encode()).serial_number


def until(what: str, happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_certificates_and_the_level_of_the_log_are_read_again(tmp_path: Path) -> None:
    write_certificate(tmp_path, 1)
    files = f'tls_certificate = "{tmp_path}/certificate.pem"\ntls_key = "{tmp_path}/key.pem"\nlog = "json"\n'
    config = tmp_path / "crofter.toml"
    config.write_text(files)
    with serving("--data", ":memory:", "--config", str(config)) as server, server.client() as client:
        assert serial_of(server) == 1
        assert client.get("/v4/regions").status_code == 200
        write_certificate(tmp_path, 2)
        config.write_text(files + 'log_level = "debug"\n')
        os.kill(server.id, signal.SIGHUP)
        until("it has reloaded", lambda: "reloaded: the log's level is debug, certificates too" in server.log())
        assert serial_of(server) == 2
        assert client.get("/v4/regions").status_code == 200  # over the connection of before

        key = (tmp_path / "key.pem").read_bytes()
        write_certificate(tmp_path, 3)
        (tmp_path / "key.pem").write_bytes(key)  # the previous key, which does not fit
        os.kill(server.id, signal.SIGHUP)
        until("it has said why not", lambda: "nothing was reloaded" in server.log())
        assert serial_of(server) == 2
        config.write_text("port = ")
        os.kill(server.id, signal.SIGHUP)
        until("it has said why not", lambda: "crofter.toml is not TOML" in server.log())
        assert client.get("/v4/regions").status_code == 200
        server.terminate()
        assert server.ended() == 0


def test_no_line_is_lost_when_the_log_is_renamed_and_opened_anew(tmp_path: Path) -> None:
    log, config = tmp_path / "crofter.log", tmp_path / "crofter.toml"
    config.write_text(f'log = "json"\nlog_file = "{log}"\n')
    asked: list[str] = []
    with serving("--data", ":memory:", "--config", str(config)) as server, server.client() as client:
        assert log.stat().st_mode & 0o777 & ~0o640 == 0
        for turn in range(3):
            asked += [client.get("/v4/regions").headers["x-request-id"] for _ in range(5)]
            log.rename(tmp_path / f"crofter.log.{turn}")
            asked += [client.get("/v4/regions").headers["x-request-id"] for _ in range(5)]
            if turn == 1:
                config.write_text("port = ")  # other errors do not affect the log
            os.kill(server.id, signal.SIGHUP)
            until("there is a new one", log.exists)
        asked.append(client.get("/v4/regions").headers["x-request-id"])
        assert server.log() == ""
    texts = [(tmp_path / f"crofter.log{end}").read_text() for end in (".0", ".1", ".2", "")]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    assert [line["request"] for line in lines if line.get("path") == "/v4/regions"] == asked
    assert [text.count(": the log's level") + text.count("nothing was") for text in texts] == [0, 1, 1, 1]
