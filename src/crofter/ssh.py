"""SSH public keys in the format of OpenSSH."""

from __future__ import annotations

from functools import lru_cache

INVALID = "SSH Key key-type must be ssh-dss, ssh-rsa, ecdsa-sha2-nistp, ssh-ed25519, or sk-ecdsa-sha2-nistp256."
LONGEST = 3000
"""Characters of a key itself: an RSA key of 16,384 bits has some 2,800, and longer ones take long to look at."""


@lru_cache(maxsize=1024)
def complaint(key: str) -> str | None:
    """Why this is no public key, if it is none."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key  # noqa: PLC0415

    key = key.strip()
    words = key.split(None, 2)
    if len(words) < 2 or not key.isprintable() or len(words[1]) > LONGEST:
        return INVALID
    try:
        load_ssh_public_key(" ".join(words[:2]).encode())
    except (ValueError, UnsupportedAlgorithm, NotImplementedError):
        return INVALID
    return None
