"""Ports: functions that lower packages need from higher ones, typed here and set by the registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from crofter.context import Context


class TrafficSource(Protocol):
    """Through this billing learns what machines sent and received, without knowing any machine.

    ``runtime.traffic`` is one; the instances provide it. Hosts that do not answer count for nothing, or raise
    Unreachable if it must be known ``exactly``.
    """

    def __call__(
        self, ctx: Context, account_id: int, periods: Mapping[int, tuple[int, int]], *, exactly: bool
    ) -> dict[int, int]:
        """Bytes of those of these instances that the account has, each from one moment to another."""
        ...
