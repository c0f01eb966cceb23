"""Reload on SIGHUP: read certificates and log level again, and reopen the log file."""

from __future__ import annotations

import logging
import signal
import ssl
import sys
from collections.abc import Callable

from crofter.cli import logs
from crofter.config import Settings, SettingsError

log = logging.getLogger("crofter")


def hold_back() -> bool:
    """Ignore SIGHUP during the start. Return True if SIGHUP means reload.

    At a terminal SIGHUP means that the terminal was closed, and must stop the server.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        return False
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return True


def reload(read: Callable[[], Settings], context: ssl.SSLContext | None) -> None:
    """Take over what can be changed while serving. What is wrong is logged, and nothing is changed then.

    The log is opened anew in any case: a file that was rotated is not to be written to because of something else.
    """
    logs.FILE.reopen()
    try:
        settings = read()
        if context is not None and settings.tls_certificate and settings.tls_key:
            files = (settings.tls_certificate, settings.tls_key)
            # A pair that does not fit would leave the context in use without any.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files)
            context.load_cert_chain(*files)
        logging.getLogger().setLevel(logs.level_of(settings))
    except (SettingsError, OSError) as error:  # certificate problems raise OSError too
        log.warning("nothing was reloaded: %s", error)
        return
    log.warning(
        "reloaded: the log's level is %s%s", settings.log_level, "" if context is None else ", certificates too"
    )
