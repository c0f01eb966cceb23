"""``crofter health``: the readiness of the server or worker on this machine that has the same settings."""

from __future__ import annotations

import ssl
import sys
from urllib.error import HTTPError, URLError
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

from crofter.config import Settings

SECONDS = 5
ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Addresses that mean every address, and one at which to call."""


def address(settings: Settings) -> str | None:
    """Return where to call. The metrics port is preferred: servers and workers have it, without TLS."""
    if settings.metrics_port is not None:
        scheme, host, port = "http", settings.metrics_host, settings.metrics_port
    else:
        scheme, host, port = "https" if settings.tls_certificate else "http", settings.host, settings.port
    host = ANY.get(host, host)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/health/ready" if port else None


def check(settings: Settings) -> int:
    """Return 0 if the server is ready, and print its answer."""
    url = address(settings)
    if url is None:
        print("crofter: a port that is chosen at the start is not known here; set one", file=sys.stderr)
        return 2
    trusting = ssl.create_default_context()  # the certificate is for another name than this address
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    try:
        with build_opener(ProxyHandler({}), HTTPSHandler(context=trusting)).open(url, timeout=SECONDS) as answer:
            print(answer.read().decode(errors="replace"))
        return 0
    except HTTPError as error:
        print(f"crofter: {url}: {error.code} {error.read().decode(errors='replace')}", file=sys.stderr)
    except (URLError, OSError) as error:
        print(f"crofter: {url} cannot be reached: {getattr(error, 'reason', error)}", file=sys.stderr)
    return 1
