"""The first password and token in production: in a file for the operator alone, never in a log."""

from __future__ import annotations

import os

from crofter.bootstrap import FirstLogin
from crofter.config import Settings

FILE = "first-login.txt"


def kept(settings: Settings, login: FirstLogin | None) -> str | None:
    """In production: put it into the data folder, and say where it is. What is printed there ends in a journal."""
    if login is None or settings.sandbox:
        return None
    again = f"make a password: crofter admin users set-password {login.username} --generate"
    if settings.folder is None:
        return f"there is no folder to keep the first password in; {again}"
    path = settings.folder / FILE
    try:
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # left over from a deleted database: the database of this start was empty
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"user      {login.username}\npassword  {login.password}\ntoken     {login.token}\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return f"the first password cannot be kept in {path} ({error.strerror}); {again}"
    return f"user {login.username}: the password and the token are in {path}; read it, then remove it"
