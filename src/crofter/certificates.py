"""Certificates that this installation depends on, and when they end."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from cryptography import x509

from crofter.clock import SECOND, machine_now

MACHINES = "machines"
"""A folder with the authority for machines that move from host to host."""
ISSUED = "issued"
"""A folder with the certificates of all hosts, without their keys, to see when they end."""


class Certificate(NamedTuple):
    whose: str
    begins: datetime
    ends: datetime

    @classmethod
    def of(cls, whose: str, file: Path) -> Certificate:
        read = x509.load_pem_x509_certificate(file.read_bytes())
        return cls(whose, read.not_valid_before_utc, read.not_valid_after_utc)

    @property
    def ends_soon(self) -> bool:
        """True if less than a quarter of the lifetime is left."""
        return datetime.fromtimestamp(machine_now() / SECOND, UTC) > self.ends - (self.ends - self.begins) / 4


def known(own: Path) -> list[Certificate]:
    """Return the certificates of the authority, of this server and of the hosts."""
    files = [("the authority", own / "cacert.pem"), ("the server", own / "clientcert.pem")]
    files += [("the authority for machines", own / MACHINES / "cacert.pem")]
    files += [(f"host {file.stem}", file) for file in sorted((own / ISSUED).glob("*.pem"))]
    return [Certificate.of(whose, file) for whose, file in files if file.exists()]


def of_installation(folder: Path | None, server: str | None) -> list[Certificate]:
    """Return the certificates for hosts and for the server itself. Files that are no certificate are skipped."""
    certificates = known(folder / "hosts") if folder is not None else []
    try:
        return [*certificates, Certificate.of("HTTPS", Path(server))] if server else certificates
    except (OSError, ValueError):
        return certificates
