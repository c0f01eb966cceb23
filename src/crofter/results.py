"""Arguments and results of handlers besides JSON: uploads, two-phase writes, streams. Independent of HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct

from crofter.context import Context
from crofter.errors import Problem

T = TypeVar("T")


class Upload(Struct, frozen=True):
    """A body that is not JSON, as it came. A subclass may read it, which happens before the transaction begins."""

    heard_out: ClassVar[bool] = False
    """True if an upload that is too long is read to its end and passed on in part, for its reader to refuse."""

    content_type: str
    content: bytes


class Pieces(Struct, frozen=True):
    """A file that is read while it is sent: as a whole it would wait in memory for a client that does not read."""

    size: int
    read: Callable[[Context, int], bytes]
    """The next few of its bytes from a position on, at which an earlier piece has ended."""


class Reply(Struct, frozen=True):
    """An answer that is not JSON."""

    content: bytes | Pieces
    content_type: str
    headers: tuple[tuple[str, str], ...] = ()


class TwoPhaseWrite(Struct, Generic[T], frozen=True):
    """An answer that needs a call to another system: what was written so far is committed, then ``call`` is made,
    then ``then`` writes down what came of it. An interruption in between is found by the intent that was committed.
    A Problem that ``then`` returns is answered as such, and what it wrote stays written.
    """

    call: Callable[[], Any]
    then: Callable[[Context, Any], T | Problem]
    cost: Callable[[Context], tuple[int, int]] = lambda _ctx: (0, 0)
    """How the account's rates will change, in micro-dollars by the hour and by the month: for plans."""


class ReadAfterCommit(Struct, Generic[T], frozen=True):
    """An answer whose read takes long: made after the change is committed, so that the next writer need not wait."""

    look: Callable[[Context], T]


class NoContent(Struct, frozen=True):
    """An answer without a body."""


Frame = tuple[str | None, str, bytes]
"""The id that a client resumes from, the name of the event, and its JSON."""


class Stream(Struct, frozen=True):
    """An answer without an end: each item is looked up when its topic is heard."""

    topic: str
    fetch: Callable[[Context, Any], tuple[list[Frame], Any]]
    """From where the stream stands to what is new, and where it stands then."""
    start: Any
