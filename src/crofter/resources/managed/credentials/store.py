"""Credentials of managed accounts. Username and password are sealed, each bound to its row and column."""

from __future__ import annotations

from collections.abc import Sequence

from crofter.context import Context
from crofter.db import Duplicate, Moment, Row, Sealed, among, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, Text, UniqueConstraint, bindparam, select
from crofter.errors import Invalid
from crofter.resources.account.store import account
from crofter.resources.managed import membership
from crofter.resources.managed.credentials.shapes import CredentialView

credential = table(
    "managed_credential",
    identity(),
    owned(),
    Column("label", Text, nullable=False),
    Column("username", Sealed),
    Column("password", Sealed),
    Column("last_decrypted", Moment),
    UniqueConstraint("account_id", "label"),
)


class Credential(Row):
    id: int
    account_id: int
    label: str
    last_decrypted: str | None


class Secrets(Row):
    username: bytes | None
    password: bytes | None


_EVERY = select(credential.c.id, credential.c.account_id, credential.c.label, credential.c.last_decrypted)
_MINE = _EVERY.where(credential.c.account_id == bindparam("account_id"))
CREDENTIALS = Collection(CredentialView, _MINE, Credential, key=credential.c.id, columns={})
_ONE = query(_MINE.where(credential.c.id == bindparam("id")), Credential)
_ANY = query(_EVERY.where(credential.c.id == bindparam("id")), Credential)
_IDS = query(
    select(credential.c.id).where(credential.c.account_id == bindparam("account_id"), among(credential.c.id, "ids"))
)
_SECRETS = query(
    select(credential.c.username, credential.c.password).where(credential.c.id == bindparam("id")), Secrets
)
_EUUID = query(select(account.c.euuid).where(account.c.id == bindparam("account_id")))


def one(ctx: Context, credential_id: int) -> Credential:
    membership.required(ctx)
    return ctx.db.one(_ONE, account_id=ctx.account_id, id=credential_id)


def credential_unscoped(ctx: Context, credential_id: int) -> Credential:
    """Return a credential of any account, for the support staff."""
    return ctx.db.one(_ANY, id=credential_id)


def existing(ctx: Context, ids: Sequence[int]) -> set[int]:
    return set(ctx.db.column(_IDS, account_id=ctx.account_id, ids=list(ids)))


def insert(ctx: Context, label: str) -> int:
    try:
        return ctx.db.insert(credential, account_id=ctx.account_id, label=label)
    except Duplicate:
        raise _taken() from None


def rename(ctx: Context, credential_id: int, label: str) -> None:
    try:
        ctx.db.update(credential, {"account_id": ctx.account_id, "id": credential_id}, label=label)
    except Duplicate:
        raise _taken() from None


def _taken() -> Invalid:
    return Invalid("Label must be unique among your Managed Credentials", field="label")


def put(ctx: Context, credential_id: int, name: str, value: str | None) -> None:
    """Seal a password or passphrase."""
    sealed = None if value is None else ctx.runtime.keyring.seal(value.encode(), _associated_data(credential_id, name))
    ctx.db.update(credential, {"account_id": ctx.account_id, "id": credential_id}, **{name: sealed})


def opened(ctx: Context, credential_id: int) -> dict[str, str | None]:
    """Username and password in plain text: for the support staff, and on record."""
    row = ctx.db.one(_SECRETS, id=credential_id)
    keyring = ctx.runtime.keyring
    return {
        name: None if sealed is None else keyring.open(bytes(sealed), _associated_data(credential_id, name)).decode()
        for name, sealed in (("username", row.username), ("password", row.password))
    }


def delete(ctx: Context, credential_id: int) -> None:
    ctx.db.delete(credential, account_id=ctx.account_id, id=credential_id)


def euuid(ctx: Context, account_id: int) -> str:
    return str(ctx.db.value(_EUUID, account_id=account_id))


def _associated_data(credential_id: int, name: str) -> str:
    return f"managed_credential:{credential_id}:{name}"
