"""Storage of OAuth clients and authorizations."""

from __future__ import annotations

from crofter.context import Context
from crofter.db import Flag, Id, Moment, Row, identity, owned, query, table
from crofter.db.collections import Collection
from crofter.db.sql import Column, ForeignKey, Index, LargeBinary, Text, bindparam, select
from crofter.resources.oauth.shapes import OAuthClientView

client = table(
    "oauth_client",
    identity(),
    # Null for a built-in client, such as the command line's: all users may use it.
    Column("account_id", Id, ForeignKey("account.id", ondelete="CASCADE")),
    Column("public_id", Text, nullable=False, unique=True),  # 20 hexadecimal characters, the id of the interface
    Column("label", Text, nullable=False),
    Column("redirect_uri", Text, nullable=False),
    Column("public", Flag, nullable=False),
    Column("secret_digest", LargeBinary, nullable=False),
    Column("status", Text, nullable=False),
    Column("thumbnail", LargeBinary),
    Column("created", Moment, nullable=False),
    Index("ix_oauth_client_account_id", "account_id", "id"),
)

# Consent of a user to a client. Its deletion ends every token from it.
authorization = table(
    "app_authorization",
    identity(),
    owned(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("client_id", Id, ForeignKey("oauth_client.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("scopes", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("expiry", Moment),
    # Console only: the login session that it ends with. Null for other clients.
    Column("session_id", Id, ForeignKey("login_session.id", ondelete="CASCADE"), index=True),
)


class Client(Row):
    id: int
    public_id: str
    label: str
    redirect_uri: str
    public: bool
    status: str
    pictured: bool


_OF_ACCOUNT = select(
    *(client.c[name] for name in Client.__struct_fields__ if name != "pictured"),
    client.c.thumbnail.is_not(None).label("pictured"),
).where(client.c.account_id == bindparam("account_id"))
CLIENTS = Collection(
    OAuthClientView, _OF_ACCOUNT, Client, key=client.c.id, columns={"label": client.c.label, "public": client.c.public}
)
_ONE = query(_OF_ACCOUNT.where(client.c.public_id == bindparam("public_id")), Client)


class Thumbnail(Row):
    content: bytes


_THUMBNAIL = query(
    select(client.c.thumbnail.label("content")).where(
        client.c.public_id == bindparam("public_id"), client.c.thumbnail.is_not(None)
    ),
    Thumbnail,
)


def one(ctx: Context, client_id: str) -> Client:
    return ctx.db.one(_ONE, account_id=ctx.account_id, public_id=client_id)


def thumbnail(ctx: Context, client_id: str) -> Thumbnail:
    """Return the picture of any account's client: users see it on the consent page."""
    return ctx.db.one(_THUMBNAIL, public_id=client_id)
