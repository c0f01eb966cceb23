"""How credentials are kept, and the key pair of each account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crofter import audit
from crofter.context import Context
from crofter.resources.managed.credentials import store
from crofter.resources.managed.credentials.shapes import (
    CredentialCreate,
    CredentialSecrets,
    CredentialUpdate,
    CredentialView,
    SshKeyView,
)
from crofter.resources.managed.credentials.store import Credential
from crofter.shapes import UNSET

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def views(rows: Sequence[Credential]) -> list[CredentialView]:
    return [view(row) for row in rows]


def view(row: Credential) -> CredentialView:
    return CredentialView(row.id, row.label, row.last_decrypted)


def create(ctx: Context, body: CredentialCreate) -> CredentialView:
    number = store.insert(ctx, body.label)
    store.put(ctx, number, "password", body.password)
    store.put(ctx, number, "username", body.username)
    return CredentialView(number, body.label, None)


def rename(ctx: Context, credential: Credential, body: CredentialUpdate) -> CredentialView:
    if body.label is not UNSET:
        store.rename(ctx, credential.id, body.label)
        credential.label = body.label
    return view(credential)


def change_secrets(ctx: Context, credential: Credential, body: CredentialSecrets) -> None:
    store.put(ctx, credential.id, "password", body.password)
    if body.username is not UNSET:
        store.put(ctx, credential.id, "username", body.username)


# Key pair, derived from the server's key for hashing, which outlives changes of the master key. So nothing is stored or
# lost: the pair of an account never changes.


def public_key(ctx: Context) -> SshKeyView:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415 - slow to import

    public = _key(ctx, ctx.account_id).public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return SshKeyView(f"{public.decode()} managed@crofter")


def private_key(ctx: Context, account_id: int, *, by: str) -> str:
    """In OpenSSH's form, for the support staff; on record."""
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    audit.write_without_token(ctx, account_id, by, "managed ssh-key", "/v4/managed/credentials/sshkey")
    key = _key(ctx, account_id)
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def _key(ctx: Context, account_id: int) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    seed = ctx.runtime.keyring.digest(f"managed ssh key of account {store.euuid(ctx, account_id)}")
    return Ed25519PrivateKey.from_private_bytes(seed)


# ---- the staff's side -----------------------------------------------------------------------------------------------


def decrypt(ctx: Context, credential_id: int, *, by: str) -> dict[str, str | None]:
    """Decrypt a credential for the support staff. An event informs the owner, and the audit log names the operator."""
    credential = store.credential_unscoped(ctx, credential_id)
    audit.write_without_token(
        ctx, credential.account_id, by, "managed decrypt", f"/v4/managed/credentials/{credential.id}"
    )
    ctx.db.update(store.credential, {"id": credential.id}, last_decrypted=ctx.moment)
    return store.opened(ctx, credential.id)
