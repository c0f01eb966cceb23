"""Processes for work on what strangers send: started with nothing of the server, and limited in all they may do."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

MEMORY = 1 << 30
NOBODY = 65534


def command(module: str, *arguments: str) -> tuple[str, ...]:
    """Python with one of our modules, deaf to variables and folders that could change what it runs."""
    return (sys.executable, "-I", "-m", module, *arguments)


def start(words: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """A process with two pipes. Nothing of the server goes with it: no variables, no open files, no terminal."""
    return subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # input that the process did not read


def confine(*, open_files: int, cpu_seconds: int | None = None, threads: bool) -> None:
    """Give up, inside the process, all that its task does not need: code that takes it over finds nothing to take.

    ``open_files`` counts connections too; with 3, the standard ones, no other can be opened.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = {
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: min(most, open_files) if most > 0 else open_files,
    }
    if cpu_seconds is not None:
        limits[resource.RLIMIT_CPU] = cpu_seconds
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    if not threads:  # after the change of user, which counts as one
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
