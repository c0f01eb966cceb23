"""The proxies of deploy/ as they are there, on free ports of this machine, in front of the servers of the walk."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tools.ports import free_ports
from tools.walk.places import ROOT, listens, until

WHERE = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", str(ROOT / ".tools" / "nginx" / "usr" / "sbin")])
"""Folders of Debian's servers, and of the one that tools/proxy.sh fetches."""
Files = tuple[Path, Path]
"""Certificate and key."""


def installed(*names: str) -> str | None:
    """The program of the first of these that is here."""
    return next((program for name in names or PROXIES if (program := shutil.which(name, path=WHERE))), None)


def serving(program: str, folder: Path, ports: list[int], files: Files) -> AbstractContextManager[str]:
    """Return a context with the proxy of that program, which yields its address."""
    return PROXIES[Path(program).name](program, folder, ports, files)


@contextmanager
def nginx(program: str, folder: Path, ports: list[int], files: Files) -> Iterator[str]:
    """Run deploy/nginx/crofter.conf, with the ports and certificates of this machine."""
    secure, plain = free_ports(), free_ports()
    text = (ROOT / "deploy" / "nginx" / "crofter.conf").read_text()
    text = _exchanged(
        text,
        {
            **{line: "\n".join(line.replace("8420", str(port)) for port in ports) for line in _upstreams(text)},
            **({"/var/log/nginx/": f"{folder}/"} if "/var/log/nginx/" in text else {}),
            "listen 443": f"listen 127.0.0.1:{secure}",
            "listen 80": f"listen 127.0.0.1:{plain}",
            "/etc/ssl/cloud.example/fullchain.pem": str(files[0]),
            "/etc/ssl/cloud.example/privkey.pem": str(files[1]),
            "server_name cloud.example": "server_name localhost cloud.example",
        },
    )
    text = re.sub(r"^ *listen \[::].*\n", "", text, flags=re.MULTILINE)
    kinds = "client_body proxy fastcgi uwsgi scgi".split()
    scratch = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    head = f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}\n"
    user = "user root;\n" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(f"{user}{head}http {{ access_log {folder}/access.log; {scratch}\n{text}}}\n")
    command = [program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    subprocess.run([*command, "-t"], check=True, stderr=subprocess.DEVNULL)
    with _running(command, folder / "nginx.log", secure):
        yield f"https://localhost:{secure}"


@contextmanager
def caddy(program: str, folder: Path, ports: list[int], files: Files) -> Iterator[str]:
    """Run deploy/caddy/Caddyfile, with the ports of this machine and a local certificate."""
    secure = free_ports()
    text = _exchanged(
        (ROOT / "deploy" / "caddy" / "Caddyfile").read_text(),
        {
            "\ncloud.example {\n": f"\nhttps://localhost:{secure} {{\n\ttls {files[0]} {files[1]}\n",
            "127.0.0.1:8420": " ".join(f"127.0.0.1:{port}" for port in ports),
        },
    )
    (folder / "Caddyfile").write_text(f"{{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\tauto_https off\n}}\n{text}")
    command = [program, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    # Caddy stores its state in the home folder.
    own = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with _running(command, folder / "caddy.log", secure, {**os.environ, **own}):
        yield f"https://localhost:{secure}"


PROXIES: dict[str, Callable[[str, Path, list[int], Files], AbstractContextManager[str]]] = {
    "nginx": nginx,
    "caddy": caddy,
}


def _upstreams(text: str) -> list[str]:
    return re.findall(r"server 127\.0\.0\.1:8420[^;]*;", text)


def _exchanged(text: str, here: Mapping[str, str]) -> str:
    """Replace the places of the example by local ones; each must occur in the example."""
    for there, ours in here.items():
        assert there in text, f"the example does not say {there!r} any more"
        text = text.replace(there, ours)
    return text


@contextmanager
def _running(command: list[str], log: Path, port: int, env: Mapping[str, str] | None = None) -> Iterator[None]:
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=env)
        try:
            until(f"{log.stem} listens", lambda: listens(port))
            yield
        finally:
            process.terminate()
            process.wait(30)
