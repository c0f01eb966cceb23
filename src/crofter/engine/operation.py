"""Operations: kinds of durable work with their steps and results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from crofter.context import Context, Runtime
    from crofter.engine.step_context import StepContext

QueueName = Literal["std", "probe", "billing", "bulk"]


class Nothing(Struct, frozen=True):
    """The arguments of an operation that needs none."""


class Sleep(Struct, frozen=True):
    """Returned by a step: run me again after this much service time. The key stays taken meanwhile."""

    seconds: float
    real_time: bool = False
    """True if the awaited work continues while the service clock is frozen: the operation is due again at once."""


class Failed(Exception):
    """Raised by a step that cannot succeed. The text is what the user reads as the event's message."""

    def __init__(self, *reason: str, percent: int | None = None) -> None:
        """``percent``: how far the operation had come, where that is known better than from its steps."""
        super().__init__(*reason)
        self.percent = percent


class Failure(Struct, frozen=True):
    """The end of an event that waits for a follow-up of the failed operation: message and percent for the user."""

    reason: str
    percent: int | None = None


class Step(Struct, frozen=True):
    """A step of an operation. Stored by name, so that a running operation survives new code."""

    name: str
    run: Callable[..., Sleep | None]
    external: bool
    weight: int
    deadline: float
    """Seconds of machine time after which an external step counts as hung."""
    retries: int


def step(
    *, weight: int = 10, deadline: float = 120.0, retries: int = 5
) -> Callable[[Callable[[StepContext], Sleep | None]], Step]:
    """A step that acts outside the database. Runs at least once, so it must be safe to repeat."""

    def make(run: Callable[[StepContext], Sleep | None]) -> Step:
        return Step(run.__name__, run, True, weight, deadline, retries)

    return make


def tx_step(*, weight: int = 10, retries: int = 5) -> Callable[[Callable[[Context, StepContext], Sleep | None]], Step]:
    """A step that only writes rows. Runs inside the checkpoint's transaction, so its writes happen exactly once."""

    def make(run: Callable[[Context, StepContext], Sleep | None]) -> Step:
        return Step(run.__name__, run, False, weight, 0.0, retries)

    return make


class Operation(Struct, frozen=True, kw_only=True):
    """A kind of durable work. Declared once per resource, listed in the registry."""

    kind: str
    args: type[Struct]
    steps: tuple[Step, ...]
    version: int = 1
    queue: QueueName = "std"
    admission: Literal["queue", "reject"] = "queue"
    """Queue behind other work on the key, or refuse the request as busy."""
    done: Callable[[Context, StepContext], None] | None = None
    """Runs in the transaction of the last step."""
    failed: Callable[[Context, StepContext, str], None] | None = None
    """Runs in the transaction that records the failure or the cancellation."""
    aliases: dict[str, str] = {}
    """Former names of steps, for operations that were under way when a step was renamed."""
    erased: tuple[str, ...] = ()
    """Fields of the arguments that are forgotten when the operation ends: sealed passwords."""
    cost: Callable[[Context, Any], tuple[int, int]] | None = None
    """Change of the account's costs by the arguments, in micro-dollars per hour and per month. For plans."""
    keep: bool = True
    """False: a success deletes the row. For frequent work without events, such as probes."""

    def __post_init__(self) -> None:
        names = [step.name for step in self.steps]
        if not names or len(set(names)) != len(names):
            raise TypeError(f"{self.kind}: steps need distinct names, and there must be one")
        if set(self.aliases) & set(names) or set(self.aliases.values()) - set(names):
            raise TypeError(f"{self.kind}: aliases lead from former names to present ones")

    def step_at(self, cursor: str) -> Step | None:
        name = self.aliases.get(cursor, cursor)
        return next((step for step in self.steps if step.name == name), None)

    def after(self, current: Step) -> Step | None:
        following = self.steps.index(current) + 1
        return self.steps[following] if following < len(self.steps) else None

    def percent(self, current: Step, within: float = 0.0) -> int:
        """How far the whole is when ``current`` is done to ``within`` percent. Only the end itself is 100."""
        total = sum(step.weight for step in self.steps) or 1
        before = sum(step.weight for step in self.steps[: self.steps.index(current)])
        return min(99, int((100 * before + within * current.weight) / total))


class Operations:
    """Every operation of the server, by kind and version."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._versions: dict[str, dict[int, Operation]] = {}
        for operation in operations:
            versions = self._versions.setdefault(operation.kind, {})
            if operation.version in versions:
                raise TypeError(f"{operation.kind} version {operation.version} is listed twice")
            versions[operation.version] = operation

    @property
    def kinds(self) -> list[str]:
        return list(self._versions)

    def find(self, kind: str, version: int | None = None) -> Operation | None:
        """The version that was admitted, or the newest one if that is no longer listed."""
        versions = self._versions.get(kind)
        if not versions:
            return None
        return versions.get(version or 0) or versions[max(versions)]


def operations_of(runtime: Runtime) -> Operations:
    """The operations this process knows. Put there by the worker, which every process has."""
    return runtime.operations or Operations(())
