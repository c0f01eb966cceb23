"""What SIGHUP does: certificates and the log's level are read again and its file is opened anew; all goes on."""

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
    """Let no SIGHUP end this process while it starts. Whether one is an order to reload later.

    At a terminal it is not: there it says that the terminal was closed, and nobody would be left to stop the server.
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
    except (SettingsError, OSError) as error:  # what is wrong with a certificate is an OSError too
        log.warning("nothing was reloaded: %s", error)
        return
    log.warning(
        "reloaded: the log's level is %s%s", settings.log_level, "" if context is None else ", certificates too"
    )
