"""Files on their way in: where they wait in the data folder, and why a crash leaves none of them behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Lock

PART, WHOLE = ".part", ".gz"


class Taken(Exception):
    """Another upload of the same file is running."""


class UploadFolder:
    """Files by name. A writer holds a lock on its file, which the system releases when the process dies."""

    def __init__(self, folder: Path | None) -> None:
        """``folder``: None for a server that keeps nothing, and then for a folder that goes with the process."""
        self._folder = folder
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._lock = Lock()

    @property
    def path(self) -> Path:
        """Made when a file is first sent: most servers are never sent any."""
        with self._lock:
            if self._folder is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="crofter-")
                self._folder = Path(self._temporary.name)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._folder

    def file(self, name: str) -> Path:
        """A file that has arrived whole."""
        return self.path / (name + WHOLE)

    def free(self) -> int:
        """Bytes that are left on the disk."""
        return shutil.disk_usage(self.path).free

    def begin(self, name: str) -> IncomingFile:
        """A new file; Taken while another one of this name is being sent."""
        part = self.path / (name + PART)
        while True:
            descriptor = _locked(part, os.O_RDWR | os.O_CREAT)
            if descriptor is None:
                raise Taken(name)
            if _is_there(part, descriptor):
                os.ftruncate(descriptor, 0)
                return IncomingFile(part, self.path / (name + WHOLE), descriptor)
            os.close(descriptor)  # deleted while this process waited for the lock

    def discard(self, name: str) -> None:
        """Remove a file if it exists."""
        if self._folder is not None:
            (self._folder / (name + WHOLE)).unlink(missing_ok=True)

    def sweep(self, wanted: Callable[[str], bool]) -> list[str]:
        """Remove files of dead processes that are neither locked nor wanted."""
        if self._folder is None or not self._folder.is_dir():
            return []
        removed = []
        for path in sorted(self._folder.iterdir()):
            if path.suffix not in (PART, WHOLE) or (descriptor := _locked(path, os.O_RDWR)) is None:
                continue
            try:
                # Checked under the lock: a finished file is unlocked only after the database names it.
                if _is_there(path, descriptor) and not (path.suffix == WHOLE and wanted(path.stem)):
                    path.unlink(missing_ok=True)
                    removed.append(path.name)
            finally:
                os.close(descriptor)
        return removed


class IncomingFile:
    """A file that is being written."""

    def __init__(self, part: Path, whole: Path, descriptor: int) -> None:
        self._part, self._whole = part, whole
        self._descriptor = descriptor

    def write(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def complete(self) -> None:
        """Sync the complete file to disk. Cleanup skips it until ``close``."""
        os.fsync(self._descriptor)
        self._part.rename(self._whole)
        folder = os.open(self._whole.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def abandon(self) -> None:
        """Remove an unwanted file."""
        for path in (self._part, self._whole):
            if _is_there(path, self._descriptor):
                path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)


def _locked(path: Path, flags: int) -> int | None:
    """Return an open and locked file; None if another process holds the lock or the file is gone."""
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _is_there(path: Path, descriptor: int) -> bool:
    """True if the path still names this file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
