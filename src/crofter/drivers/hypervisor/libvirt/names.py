"""Names of objects on hosts: numbers and the installation id, never user input."""

from __future__ import annotations

import uuid

from msgspec import Struct

_NAMESPACE = uuid.UUID("6f0a2d3e-5d0c-4b51-9a37-0d1b6f8e5a11")


class Names(Struct, frozen=True):
    """Names carry the installation, so that two of them on a host, or one that was emptied, never mix machines up."""

    installation: str
    """Eight hexadecimal characters."""

    @property
    def pool(self) -> str:
        return f"crofter-{self.installation}"

    @property
    def volume_pool(self) -> str:
        return f"crofter-{self.installation}-volumes"

    @property
    def vlans(self) -> str:
        return f"crofter-{self.installation}-vlans"

    def domain(self, number: int) -> str:
        return f"crofter-{self.installation}-i-{number}"

    def helper(self, job: int) -> str:
        return f"crofter-{self.installation}-job-{job}"

    def identity(self, number: int) -> str:
        return str(uuid.uuid5(_NAMESPACE, f"{self.installation}:{number}"))

    def filter(self, number: int) -> str:
        return f"crofter-{self.installation}-i-{number}"


def disk(number: int) -> str:
    return f"d{number}.qcow2"


def saved(backup: int, number: int) -> str:
    return f"bk{backup}-d{number}.qcow2"


def image(number: int) -> str:
    return f"im{number}.qcow2"


def volume(number: int) -> str:
    return f"v{number}.qcow2"


def upload_part(now: int, token: str, name: str) -> str:
    """Return the name of an operator's file during its transfer. It belongs to no job; the name contains its age."""
    return f"part{now}-{token}-{name}"


def scratch(job: int, name: str) -> str:
    """A file of a piece of work, which goes with it."""
    return f"tmp{job}-{name}"
