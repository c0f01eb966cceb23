"""Certificates for the lines to hosts: an authority of our own, one certificate for each host, one for the server.

libvirt checks them on both sides. They are RSA: libvirt refuses a certificate that may not encipher keys.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from crofter.certificates import ISSUED, MACHINES, Certificate
from crofter.cli.operators import Rows

AUTHORITY, CLIENT = "crofter hosts", "crofter"
YEARS = timedelta(days=3650)
LIFE = timedelta(days=825)
_BITS = 3072


def make(own: Path, name: str, to: Path) -> Rows:
    """For one host: what belongs into /etc/pki there. The authority and the server's own are made at the first time.

    The server's own is made anew when it ends soon.
    """
    own.mkdir(parents=True, exist_ok=True)
    authority = _authority(own)
    client = own / "clientcert.pem"
    if not client.exists() or Certificate.of("", client).ends_soon:
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
        _signed(authority, CLIENT, own / "clientkey.pem", own / "clientcert.pem", purposes)
    to.mkdir(parents=True, exist_ok=True)
    _signed(authority, name, to / "serverkey.pem", to / "servercert.pem", [ExtendedKeyUsageOID.SERVER_AUTH])
    (to / "cacert.pem").write_bytes((own / "cacert.pem").read_bytes())
    _make_for_machines(own / MACHINES, name, to / "qemu")
    (own / ISSUED).mkdir(exist_ok=True)
    (own / ISSUED / f"{name.replace('/', '_')}.pem").write_bytes((to / "servercert.pem").read_bytes())
    return [
        {"file": str(to / "cacert.pem"), "belongs": "on the host: /etc/pki/CA/cacert.pem"},
        {"file": str(to / "servercert.pem"), "belongs": "on the host: /etc/pki/libvirt/servercert.pem"},
        {"file": str(to / "serverkey.pem"), "belongs": "on the host: /etc/pki/libvirt/private/serverkey.pem"},
        {"file": str(to / "qemu"), "belongs": "on the host: /etc/pki/qemu, for libvirt's QEMU user alone to read"},
        {"file": str(own), "belongs": f"stays here: qemu+tls://{name}/system?pkipath={own.resolve()}"},
    ]


def _make_for_machines(own: Path, name: str, to: Path) -> None:
    """Create the certificate that encrypts live migrations.

    QEMU reads the key, so a guest that breaks out of QEMU can read it too. A separate authority signs it, which no
    other service trusts. Each QEMU acts as client and as server.
    """
    own.mkdir(parents=True, exist_ok=True)
    to.mkdir(parents=True, exist_ok=True)
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    _signed(_authority(own), name, to / "server-key.pem", to / "server-cert.pem", both)
    (to / "ca-cert.pem").write_bytes((own / "cacert.pem").read_bytes())
    for kind in ("key", "cert"):
        shutil.copy(to / f"server-{kind}.pem", to / f"client-{kind}.pem")


Authority = tuple[x509.Certificate, rsa.RSAPrivateKey]


def _authority(own: Path) -> Authority:
    certificate, key = own / "cacert.pem", own / "cakey.pem"
    if certificate.exists():
        loaded: Any = serialization.load_pem_private_key(key.read_bytes(), None)
        return x509.load_pem_x509_certificate(certificate.read_bytes()), loaded
    private = rsa.generate_private_key(65537, _BITS)
    name = _name(AUTHORITY)
    built = (
        _dated(YEARS)
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(private, hashes.SHA256())
    )
    _write_key(key, private)
    certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    return built, private


def _signed(
    authority: Authority, name: str, key: Path, certificate: Path, purposes: list[x509.ObjectIdentifier]
) -> None:
    issuer, signer = authority
    private = rsa.generate_private_key(65537, _BITS)
    built = (
        _dated(LIFE)
        .subject_name(_name(name))
        .issuer_name(issuer.subject)
        .public_key(private.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(name)]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    _write_key(key, private)
    certificate.write_bytes(built.public_bytes(serialization.Encoding.PEM))


def _dated(life: timedelta) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(minutes=5)).not_valid_after(now + life)


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_encipherment=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_key(path: Path, private: rsa.RSAPrivateKey) -> None:
    encoded = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(encoded)
