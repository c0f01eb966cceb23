"""Certificates that this installation depends on, and when they end."""

from __future__ import annotations

from contextlib import suppress
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


class Unreadable(NamedTuple):
    """A file that should hold a certificate, and why it cannot be read."""

    whose: str
    file: Path
    why: str


def known(own: Path) -> list[Certificate]:
    """Return the readable certificates of the authority, of this server and of the hosts."""
    return [certificate for certificate in examine(own) if isinstance(certificate, Certificate)]


def examine(own: Path) -> list[Certificate | Unreadable]:
    """Return the certificates of the authority, of this server and of the hosts, and the files that hold none."""
    files = [("the authority", own / "cacert.pem"), ("the server", own / "clientcert.pem")]
    files += [("the authority for machines", own / MACHINES / "cacert.pem")]
    with suppress(OSError):  # a folder that may not be searched: the files above are reported
        files += [(f"host {file.stem}", file) for file in sorted((own / ISSUED).glob("*.pem"))]
    return [read for whose, file in files if (read := _read(whose, file)) is not None]


def _read(whose: str, file: Path) -> Certificate | Unreadable | None:
    """Read one certificate; None if there is no such file."""
    try:
        return Certificate.of(whose, file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return Unreadable(whose, file, (error.strerror if isinstance(error, OSError) else None) or "no certificate")


def of_installation(folder: Path | None, server: str | None) -> list[Certificate]:
    """Return the certificates for hosts and for the server itself. Files that are no certificate are skipped."""
    certificates = known(folder / "hosts") if folder is not None else []
    own = _read("HTTPS", Path(server)) if server else None
    return [*certificates, own] if isinstance(own, Certificate) else certificates
