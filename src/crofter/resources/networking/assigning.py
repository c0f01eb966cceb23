"""Assignment of addresses to instances: all requested moves, or none."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

from msgspec import Struct

from crofter.context import Context
from crofter.errors import Invalid, Reason
from crofter.kinds import inaccessible
from crofter.resources.instances import store as instances
from crofter.resources.instances.ips import ranges
from crofter.resources.instances.ips import rules as instance_ips
from crofter.resources.instances.ips import store as ips
from crofter.resources.instances.ips.ranges import Range
from crofter.resources.instances.ips.store import Address
from crofter.resources.instances.store import Instance
from crofter.resources.networking import rules
from crofter.resources.networking.shapes import Assign, Assignment
from crofter.resources.regions import store as regions

NOT_THERE = "The {} is not in this region."


class _Move(Struct):
    """A move from one instance to another."""

    what: Address | Range
    to: int

    @property
    def text(self) -> str:
        return self.what.with_prefix if isinstance(self.what, Range) else self.what.address


def assign(ctx: Context, body: Assign) -> None:
    if regions.find(ctx, body.region) is None:
        raise Invalid("region is not valid", field="region")
    own = {
        row.id: row for row in instances.these(ctx, list({assignment.compute_id for assignment in body.assignments}))
    }
    reasons: list[Reason] = []
    moves: list[_Move] = []
    for position, assignment in enumerate(body.assignments):
        wrong = list(_complaints(ctx, body.region, assignment, own, f"assignments[{position}]"))
        what = _find(ctx, body.region, assignment.address)
        if what is None:
            wrong.append(Reason(rules.NO_ADDRESS))
        elif not wrong:
            moves.append(_Move(what, assignment.compute_id))
        reasons += wrong
    if reasons:
        raise Invalid.all(dict.fromkeys(reasons))
    _carry_out(ctx, body, moves)


def _complaints(
    ctx: Context, region: str, assignment: Assignment, own: dict[int, Instance], path: str
) -> Iterator[Reason]:
    instance = own.get(assignment.compute_id)
    if instance is None or not _permits(ctx, assignment.compute_id, "read_only"):
        yield Reason(f"Invalid Compute ID {assignment.compute_id}")
    elif not _permits(ctx, assignment.compute_id, "read_write"):
        raise inaccessible(instances.KIND, f"{path}.compute_id")
    elif instance.region != region:
        yield Reason(NOT_THERE.format("Compute"), f"{path}.compute_id")


def _permits(ctx: Context, compute_id: int, level: str) -> bool:
    return ctx.runtime.kinds.permits(ctx, instances.KIND, compute_id, level)


def _find(ctx: Context, region: str, text: str) -> Address | Range | None:
    """The address or range in the region, if the caller may see the instance that has it."""
    held = _named(ctx, region, text)
    if held is None or held.region != region or not _permits(ctx, held.instance_id, "read_only"):
        return None
    return held


def _named(ctx: Context, region: str, text: str) -> Address | Range | None:
    name, _, prefix = text.partition("/")
    try:
        wanted = ipaddress.ip_address(name)
    except ValueError:
        return None
    if isinstance(wanted, ipaddress.IPv4Address):
        return None if prefix else ips.held(ctx, str(wanted), region)
    held = ranges.find(ctx, str(wanted))
    return held if held is not None and prefix in ("", str(held.prefix)) else None


def _carry_out(ctx: Context, body: Assign, moves: list[_Move]) -> None:
    named = [move.text for move in moves]
    if len(set(named)) != len(named):
        raise Invalid("An address may be assigned only once", field="assignments")
    for position, move in enumerate(moves):
        if not _permits(ctx, move.what.instance_id, "read_write"):
            raise inaccessible(instances.KIND, f"assignments[{position}].address")
    moves = [move for move in moves if move.what.instance_id != move.to]
    touched = {number for move in moves for number in (move.to, move.what.instance_id)}
    rows = {row.id: row for row in instances.these(ctx, sorted(touched))}
    rules.must_stay(ctx, [rows[number] for number in sorted(rows)])
    reasons = list(_against(ctx, rows.values(), moves))
    if reasons:
        raise Invalid.all(reasons)
    for move in moves:
        _carry(ctx, rows, move)
    for number in sorted(rows):
        instance_ips.recount(ctx, rows[number])


def _against(ctx: Context, rows: Iterable[Instance], moves: list[_Move]) -> Iterator[Reason]:
    """Yield the problems of each instance's addresses after the moves."""
    moved = {move.text: move.to for move in moves}
    for instance in rows:
        stays = [row for row in ips.of(ctx, instance.id) if moved.get(row.address, instance.id) == instance.id]
        comes = [move.what for move in moves if move.to == instance.id]
        held = [*stays, *(address for address in comes if isinstance(address, Address))]
        if not any(row.public for row in held):
            yield Reason(f"Compute {instance.id} would have no public IPv4 address.", "assignments")
        if sum(not row.public for row in held) > 1:
            yield Reason(f"Compute {instance.id} would have more than one private IPv4 address.", "assignments")
        if sum(isinstance(address, Range) for address in comes) and ranges.of(ctx, instance.id) is not None:
            yield Reason(f"Compute {instance.id} already has an IPv6 range.", "assignments")


def _carry(ctx: Context, rows: dict[int, Instance], move: _Move) -> None:
    what = move.what
    if isinstance(what, Range):
        ranges.assign(ctx, what, move.to)
    else:
        ips.assign(ctx, what, move.to)
    instance_ips.tell(ctx, rows[what.instance_id], "compute_deleteip", move.text)
    instance_ips.tell(ctx, rows[move.to], "compute_addip", move.text)


__all__ = ["assign"]
