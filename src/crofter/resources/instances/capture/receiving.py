"""Files of images while they arrive: for whom, into which file, and what is done when one is whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock

from crofter.context import Context, Runtime
from crofter.db.database import TransactionConflict
from crofter.errors import Conflict, NotFound, TooMany, Unavailable
from crofter.resources.images import store as images
from crofter.resources.images.store import Image
from crofter.resources.instances.capture import rules
from crofter.resources.instances.capture.checks import MB, GzipMeter
from crofter.uploads import IncomingFile, Taken

PER_ACCOUNT = 2
"""Files that one account may send to one process at the same time."""
SPARE = 1024 * MB
"""Bytes of the disk that uploads leave to everything else that is kept in the data folder."""
TRIES = 5
NO_SPACE = "There is no space for uploads now. Please try again later."
SENT = "The file of this image was sent already."
SENDING = "The file of this image is being sent at this moment."


class Receiver:
    """Opens the upload for an address."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._under_way: Counter[int] = Counter()
        self._lock = Lock()

    def open(self, secret: str) -> IncomingImage:
        """Return the receiver of the file; raises a Problem. Call it, and the receiver's methods, in threads."""
        image = self._image(secret)
        assert image.account_id is not None
        account_id = image.account_id
        with self._lock:
            if self._under_way[account_id] >= PER_ACCOUNT:
                raise TooMany
            self._under_way[account_id] += 1
        try:
            file = self._runtime.uploads.begin(str(image.id))
        except Taken:
            self._end(account_id)
            raise Conflict(SENDING) from None
        except BaseException:
            self._end(account_id)
            raise
        return IncomingImage(self._runtime, image, file, lambda: self._end(account_id))

    def _end(self, account_id: int) -> None:
        with self._lock:
            self._under_way[account_id] -= 1
            if not self._under_way[account_id]:
                del self._under_way[account_id]

    def _image(self, secret: str) -> Image:
        with self._runtime.database.read() as db:
            ctx = Context(self._runtime, db)
            image = images.by_upload(ctx, self._runtime.keyring.digest(secret))
            if image is None or (image.status == "pending_upload" and not rules.is_waiting(ctx, image)):
                raise NotFound
        if image.status != "pending_upload":
            raise Conflict(SENT)
        return image


class IncomingImage:
    """A file that is being uploaded."""

    def __init__(self, runtime: Runtime, image: Image, file: IncomingFile, ended: Callable[[], None]) -> None:
        self._runtime, self._image = runtime, image
        self._file, self._meter = file, GzipMeter()
        self._ended = ended

    def write(self, content: bytes) -> None:
        if self._runtime.uploads.free() < SPARE + len(content):
            raise Unavailable(NO_SPACE)
        self._meter.feed(content)
        self._file.write(content)

    def finish(self) -> None:
        """Sync the complete file to disk, then update the database. The file is locked against cleanup until then."""
        size, digest = self._meter.end()
        self._file.complete()
        self._write_down(size, digest)
        self._file.close()
        self._ended()

    def abandon(self) -> None:
        self._file.abandon()
        self._ended()

    def _write_down(self, size: int, digest: str) -> None:
        assert self._image.account_id is not None
        for _ in range(TRIES):
            try:
                with self._runtime.database.write() as db:
                    db.lock_account(self._image.account_id)
                    ctx = Context.of_system(self._runtime, db, self._image.account_id)
                    return rules.received(ctx, self._image.id, size, digest)
            except TransactionConflict:
                continue
        raise Unavailable


def sweep(runtime: Runtime) -> list[str]:
    """Remove files that no image is being made from."""

    def wanted(name: str) -> bool:
        with runtime.database.read() as db:
            image = images.find_unscoped(Context(runtime, db), int(name)) if name.isdigit() else None
        return image is not None and image.status == "creating"

    return runtime.uploads.sweep(wanted)
