"""Certificates and their keys: whether they are some, belong together, and what is shown of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from crofter.errors import Reason

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

MOST = 10
"""Certificates in a chain, with the first."""
NO_CERTIFICATE = "Must be a PEM certificate, followed by those that vouch for it"
NO_KEY = "Must be a PEM private key without a passphrase"
NO_PAIR = "The key does not belong to the certificate"


class Pair(Struct):
    """A certificate with its key. It is shown nowhere, and must not reach a log."""

    ssl_cert: str
    ssl_key: str
    commonname: str
    fingerprint: str

    def __repr__(self) -> str:
        return f"Pair({self.fingerprint})"


def read(ssl_cert: str, ssl_key: str) -> Pair | list[Reason]:
    """The pair, or all that is wrong with it. Whether it is still valid is for its visitors to judge."""
    certificate, key = _certificate(ssl_cert), _key(ssl_key)
    reasons = list(_complaints(certificate, key))
    if reasons or certificate is None:
        return reasons
    return Pair(ssl_cert, ssl_key, _commonname(certificate), _fingerprint(certificate))


def _complaints(certificate: Certificate | None, key: Any) -> Iterator[Reason]:
    if certificate is None:
        yield Reason(NO_CERTIFICATE, "ssl_cert")
    if key is None:
        yield Reason(NO_KEY, "ssl_key")
    elif certificate is not None and key.public_key() != certificate.public_key():
        yield Reason(NO_PAIR, "ssl_key")


def _certificate(pem: str) -> Certificate | None:
    """The first of a chain in which all can be read."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - slow to import
    from cryptography.x509 import load_pem_x509_certificates  # noqa: PLC0415

    try:
        chain = load_pem_x509_certificates(pem.encode())
        chain[0].public_key()
        _commonname(chain[0])
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return chain[0] if len(chain) <= MOST else None


def _key(pem: str) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        # To prove that the factors of a long key are prime takes longer than others should wait for this request.
        key = load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)
        if isinstance(key, RSAPrivateKey) and not _fits_together(key):
            return None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key


def _fits_together(key: Any) -> bool:
    numbers = key.private_numbers()
    public = numbers.public_numbers
    product = numbers.d * public.e - 1
    return bool(numbers.p * numbers.q == public.n and product % (numbers.p - 1) == 0 and product % (numbers.q - 1) == 0)


def _commonname(certificate: Certificate) -> str:
    """Whom it is for; where its subject has no such name, the first of the others that it has."""
    from cryptography.x509 import DNSName, ExtensionNotFound, SubjectAlternativeName  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    named = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if named:
        return str(named[0].value)
    try:
        others = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    except ExtensionNotFound:
        return ""
    return next(iter(others.get_values_for_type(DNSName)), "")


def _fingerprint(certificate: Certificate) -> str:
    from cryptography.hazmat.primitives.hashes import SHA1  # noqa: PLC0415

    return certificate.fingerprint(SHA1()).hex(":").upper()  # names it, and protects nothing
