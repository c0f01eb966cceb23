"""Taking turns: candidates are measured round by round in one run, so that a busy machine is busy for all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from bench import client
from bench.client import Make
from bench.processes import Cpu, Server


class Effort(NamedTuple):
    """How long to measure for."""

    rounds: int
    seconds: float
    """Approximate CPU seconds of a candidate per round."""
    most: int
    """Maximum number of requests per round."""
    warm_up: int
    """Requests that come before, to see how many fill a round."""


THOROUGH = Effort(rounds=7, seconds=0.3, most=1500, warm_up=8)
BRIEF = Effort(rounds=3, seconds=0.15, most=800, warm_up=8)
"""For a busy machine: the same sizes, rougher figures."""
QUICK = Effort(rounds=1, seconds=0.005, most=10, warm_up=1)


class Candidate(NamedTuple):
    server: Server
    make: Make


def microseconds(candidates: Sequence[Candidate], effort: Effort, numbers: Iterator[int]) -> list[Cpu]:
    """CPU microseconds per request of each candidate: the median of its rounds."""
    amounts = [_amount(candidate, effort, numbers) for candidate in candidates]
    rounds: list[list[Cpu]] = [[] for _ in candidates]
    for _, (position, candidate) in itertools.product(range(effort.rounds), enumerate(candidates)):
        rounds[position].append(_cost(candidate, amounts[position], numbers))
    return [Cpu(median(cost.server for cost in costs), median(cost.database for cost in costs)) for costs in rounds]


def _amount(candidate: Candidate, effort: Effort, numbers: Iterator[int]) -> int:
    """Return the number of requests that fill a round; the first ones are also the warm-up."""
    cost = _cost(candidate, effort.warm_up, numbers).both
    if cost < 50_000:
        cost = _cost(candidate, effort.warm_up * 4, numbers).both
    return max(4, min(effort.most, int(effort.seconds * 1_000_000 / cost)))


def _cost(candidate: Candidate, amount: int, numbers: Iterator[int]) -> Cpu:
    before = candidate.server.cpu_seconds()
    client.load(candidate.server.port, candidate.make, numbers, amount)
    return candidate.server.cpu_seconds().since(before, amount)
