"""Mail: handed to a real mail server, encrypted, once the promise is committed."""

from __future__ import annotations

import datetime
import smtplib
import socketserver
import ssl
import threading
from collections.abc import Iterator
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from crofter import mail
from crofter.context import Context
from crofter.drivers.mail import Mail, Smtp, Undeliverable
from tests.cloud import Cloud
from tests.test_staff import AdminCommands

LETTER = Mail("<1@crofter>", "grace@example.com", "Grüße", "Schöne Zeilen\nund noch eine")


def certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


class _Session(socketserver.StreamRequestHandler):
    """A minimal SMTP server."""

    server: PostOffice

    def handle(self) -> None:
        self.say("220 ready")
        encrypted = False
        while line := self.rfile.readline():
            word = line.split()[0].upper() if line.split() else b""
            if word == b"EHLO":
                self.say("250-hello", "250 AUTH PLAIN" if encrypted else "250 STARTTLS")
            elif word == b"STARTTLS" and self.server.encrypts:
                self.say("220 go on")
                self.request = self.server.context.wrap_socket(self.request, server_side=True)
                self.rfile, self.wfile = self.request.makefile("rb"), self.request.makefile("wb", 0)
                encrypted = True
            elif word == b"AUTH":
                self.server.words.append(line)
                self.say("235 welcome")
            elif word == b"RCPT":
                self.say(self.server.verdict)
            elif word == b"DATA":
                self.say("354 go on")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.mails.append((encrypted, b"".join(lines)))
                self.say("250 taken")
            elif word == b"QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 fine" if word in (b"MAIL", b"RSET", b"NOOP") else "502 what")

    def say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())


class PostOffice(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, pem: Path) -> None:
        super().__init__(("localhost", 0), _Session)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pem)
        self.trusting = ssl.create_default_context(cafile=str(pem))
        self.mails: list[tuple[bool, bytes]] = []
        self.words: list[bytes] = []
        self.verdict = "250 fine"
        self.encrypts = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that turned away."""

    @property
    def address(self) -> str:
        return f"smtp://sender:pass%20word@localhost:{self.server_address[1]}"

    def read(self) -> Any:
        return message_from_bytes(self.mails[-1][1], policy=policy.default)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[PostOffice]:
    with PostOffice(certificate(tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_mail_server_gets_the_mail_encrypted_and_knows_us(office: PostOffice) -> None:
    Smtp(office.address, "crofter <no-reply@server.example>", office.trusting).send(LETTER)
    [(encrypted, _)] = office.mails
    assert encrypted
    assert office.words == [b"AUTH PLAIN AHNlbmRlcgBwYXNzIHdvcmQ=\r\n"]
    read = office.read()
    assert (read["To"], read["Subject"], read["Message-ID"]) == ("grace@example.com", "Grüße", "<1@crofter>")
    assert read["From"] == "crofter <no-reply@server.example>"
    written = read["Date"].datetime
    assert abs(written - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(days=1)
    assert read.get_content().replace("\r\n", "\n").strip() == LETTER.text


def test_a_server_that_is_not_who_it_says_gets_nothing(office: PostOffice) -> None:
    with pytest.raises(ssl.SSLError):
        Smtp(office.address, "x@server.example").send(LETTER)
    assert office.mails == []


def test_a_server_that_does_not_encrypt_gets_nothing(office: PostOffice) -> None:
    office.encrypts = False
    with pytest.raises(smtplib.SMTPException):
        Smtp(office.address, "x@server.example", office.trusting).send(LETTER)
    assert office.mails == []


@pytest.mark.parametrize(("verdict", "for_good"), [("550 nobody here", True), ("450 later", False)])
def test_a_refusal_is_for_good_or_for_now(office: PostOffice, verdict: str, for_good: bool) -> None:
    office.verdict = verdict
    with pytest.raises(Undeliverable if for_good else smtplib.SMTPRecipientsRefused):
        Smtp(office.address, "x@server.example", office.trusting).send(LETTER)


def test_an_address_that_no_header_carries_is_undeliverable(office: PostOffice) -> None:
    evil = Mail("<1@crofter>", "grace@example.com\nBcc: everybody@example.com", "x", "x")
    with pytest.raises(Undeliverable):
        Smtp(office.address, "x@server.example", office.trusting).send(evil)
    assert office.mails == []


@pytest.fixture
def posting(cloud: Cloud, office: PostOffice) -> Iterator[Cloud]:
    """Return a cloud that sends its mail to the test server."""
    outbox = cloud.runtime.mailer
    cloud.runtime.mailer = Smtp(office.address, "x@server.example", office.trusting)
    yield cloud
    cloud.runtime.mailer = outbox


def write(cloud: Cloud, *, give_up: bool = False) -> str:
    with cloud.runtime.database.write() as db:
        message_id = mail.send(Context(cloud.runtime, db), "grace@example.com", "Hello", "the text of the letter")
        if give_up:
            raise RuntimeError
        return message_id


def left(cloud: Cloud) -> list[Any]:
    with cloud.runtime.database.read() as db:
        return list(db.raw("SELECT state, input FROM operation WHERE kind = 'mail.send'").fetchall())


@pytest.mark.both
def test_a_promise_that_is_committed_is_kept(posting: Cloud, office: PostOffice) -> None:
    posting.freeze()
    message_id = write(posting)
    assert office.mails == []
    [(state, arguments)] = left(posting)
    assert state == "queued"
    assert "the text of the letter" not in str(arguments)
    posting.settle()
    assert office.read()["Message-ID"] == message_id
    assert message_id.endswith("@localhost>")  # the domain of the sender in the settings
    assert left(posting) == []


def test_a_promise_that_is_not_committed_is_none(posting: Cloud, office: PostOffice) -> None:
    with pytest.raises(RuntimeError):
        write(posting, give_up=True)
    posting.settle()
    assert office.mails == []


def test_a_mail_server_that_is_away_is_asked_again(posting: Cloud, office: PostOffice) -> None:
    posting.freeze()
    office.verdict = "450 later"
    write(posting)
    posting.advance(600)
    assert office.mails == []
    office.verdict = "250 fine"
    posting.advance(1200)
    assert len(office.mails) == 1


def test_a_mail_that_cannot_arrive_is_given_up_and_forgotten(posting: Cloud, office: PostOffice) -> None:
    posting.freeze()
    office.verdict = "550 nobody here"
    write(posting)
    posting.settle()
    [(state, arguments)] = left(posting)
    assert state == "failed"
    assert "sealed" not in str(arguments)


def test_a_doctor_offers_a_mail_and_says_why_none_could_go_out(
    office: PostOffice, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Encryption, password, sender and recipient: an answer to a greeting proves none of them."""
    admin = AdminCommands(capsys, tmp_path / "data")
    admin("init")
    monkeypatch.setenv("CROFTER_MAIL", office.address)

    def checked(*words: str) -> tuple[bool, str]:
        rows = admin("doctor", *words, code=1)  # no server runs here
        (row,) = [row for row in rows if row["check"] == "mail"]
        return row["ok"], row["found"]

    well, reason = checked()
    assert (well, "certificate" in reason) == (False, True)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    place = f"localhost:{office.server_address[1]}"
    assert checked() == (True, f"{place}: would take a mail to no-reply@localhost")
    assert checked("--mail-to", "ada@example.com") == (True, f"{place}: would take a mail to ada@example.com")
    office.verdict = "554 relay access denied"
    assert checked() == (False, f"{place}: 554 relay access denied")
    assert office.mails == []
