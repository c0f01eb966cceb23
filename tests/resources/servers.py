"""Real servers on this machine that go down and come up: what monitoring looks at in tests."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Server:
    """Answers every connection with the same bytes; at the same port whenever it is up."""

    def __init__(self, reply: bytes = HELLO, *, certificate: Path | None = None, delay: float = 0) -> None:
        self.reply = reply
        self.delay = delay
        self._stopped = threading.Event()
        self.hung_up = 0
        """How many of the next visitors get no answer."""
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self.visits = 0
        self.visited = threading.Event()
        self._listening: socket.socket | None = None
        # Bound without listening, so that the port stays reserved while this server is down.
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", 0))
        self.port: int = self._place.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/"

    def start(self) -> None:
        self._stopped.clear()
        self._listening = socket.create_server(("127.0.0.1", self.port), backlog=256)
        threading.Thread(target=self._serve, args=(self._listening,), daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        if self._listening is not None:
            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None

    def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                return
            with peer, suppress(OSError):
                self.visits += 1
                self.visited.set()
                peer.settimeout(20)
                if self.hung_up:
                    self.hung_up -= 1
                elif self.reply:
                    self._answer(peer)

    def _answer(self, peer: socket.socket) -> None:
        with self._tls.wrap_socket(peer, server_side=True) if self._tls else peer as talking:
            talking.recv(4096)
            self._stopped.wait(self.delay)
            talking.sendall(self.reply)


def certificate(folder: Path, name: str, issuer: Path | None = None, *, days: int = 1, host: str = "127.0.0.1") -> Path:
    """A certificate for an address of this machine, with its key, in one file; signed by itself or by an issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    signing, signer = key, subject
    if issuer is not None:
        content = issuer.read_bytes()
        signer = x509.load_pem_x509_certificate(content).subject
        signing = serialization.load_pem_private_key(content, None)  # type: ignore[assignment]
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - datetime.timedelta(days=10))
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]), critical=False)
        .sign(signing, hashes.SHA256())
    )
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / f"{name}.pem"
    file.write_bytes(key.private_bytes(*plain) + made.public_bytes(serialization.Encoding.PEM))
    return file
