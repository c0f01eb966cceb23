"""Log of the process, written to standard error next to the request log."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

from crofter.cli.payment_warning import PRETENDED_PAYMENTS, pretends_payments
from crofter.config import Settings, complaints


class JsonLines(logging.Formatter):
    """Formatter that writes one JSON object per record, like the request log."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in getattr(record, "fields", {}).items() if value is not None}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def level_of(settings: Settings) -> int:
    """From which level on lines are written. Where no requests are logged, neither are operations that went well."""
    level = int(getattr(logging, settings.log_level.upper()))
    return max(level, logging.WARNING) if settings.log == "off" else level


class LogFile:
    """Where standard error goes, if it goes to a file of ours.

    Libraries and the interpreter write there too, so it is the descriptor that is replaced, for all of them at once.
    """

    def __init__(self) -> None:
        self._path: str | None = None

    def open(self, path: str) -> None:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        os.dup2(file, 2)
        os.close(file)
        self._path = path

    def reopen(self) -> None:
        """Reopen the log file under its configured name after a rotation."""
        if self._path is None:
            return
        try:
            self.open(self._path)
        except OSError as error:
            logging.getLogger("crofter").warning("the log was not opened anew: %s", error)


FILE = LogFile()


def was_not_cut_off(record: logging.LogRecord) -> bool:
    """Drop the traces of requests cancelled at a stop: one line already reports their number."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def begin(settings: Settings) -> None:
    if settings.log_file is not None:
        FILE.open(settings.log_file)
    handler = logging.StreamHandler(sys.stderr)
    if settings.log == "pretty" or (settings.log == "auto" and sys.stderr.isatty()):
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    else:
        handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=level_of(settings))
    # We say ourselves that we have started; and what strangers send us is not worth a warning.
    logging.getLogger("uvicorn").setLevel(logging.DEBUG if settings.log_level == "debug" else logging.ERROR)
    logging.getLogger("uvicorn.error").addFilter(was_not_cut_off)
    for line in complaints(os.environ):
        logging.getLogger("crofter").warning(line)
    if pretends_payments(settings):
        logging.getLogger("crofter").warning(PRETENDED_PAYMENTS)
