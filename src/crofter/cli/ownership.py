"""Files that a command run as root makes in the data folder. The owner of the folder gets them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crofter.clock import SECOND, machine_now

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


@contextmanager
def handed_over(folder: Path | None) -> Iterator[None]:
    """After the block, give new files of root in the folder to its owner. Without root's rights this does nothing."""
    began = machine_now() / SECOND - 1  # clocks of file systems are coarse
    try:
        yield
    finally:
        if folder is not None and os.geteuid() == 0 and folder.is_dir():
            owner = folder.stat()
            if owner.st_uid != 0:
                _hand_over(folder, owner, began)


def _hand_over(folder: Path, owner: os.stat_result, began: float) -> None:
    for _path, folders, files, place in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            with suppress(OSError):  # gone meanwhile, or a link, which is never followed
                handle = os.open(name, _OPEN, dir_fd=place)
                try:
                    if _is_of_root(os.fstat(handle), began):
                        os.fchown(handle, owner.st_uid, owner.st_gid)
                finally:
                    os.close(handle)


def _is_of_root(file: os.stat_result, began: float) -> bool:
    """True for a new folder or file of root. One with a second name may be a file from outside the folder."""
    plain = stat.S_ISDIR(file.st_mode) or (stat.S_ISREG(file.st_mode) and file.st_nlink == 1)
    return plain and file.st_uid == 0 and file.st_ctime >= began
