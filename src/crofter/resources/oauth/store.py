"""OAuth clients, and what users have allowed them."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, LargeBinary, Text

from crofter.db import Flag, Id, Moment, identity, owned, table

client = table(
    "oauth_client",
    identity(),
    # Null for a client of the house itself, like the command line's: everybody may use it, nobody owns it.
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

# One per consent of one user to one client. Deleting it ends every token that came from it.
authorization = table(
    "app_authorization",
    identity(),
    owned(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("client_id", Id, ForeignKey("oauth_client.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("scopes", Text, nullable=False),
    Column("created", Moment, nullable=False),
    Column("expiry", Moment),
)
