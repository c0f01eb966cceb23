"""What the login service remembers: sessions, codes, refresh tokens, links sent by mail."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, LargeBinary, Text

from crofter.db import Flag, Id, Moment, identity, table

session = table(
    "login_session",
    identity(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("created", Moment, nullable=False),
    Column("last_seen", Moment, nullable=False),
)

code = table(
    "authorization_code",
    identity(),
    Column("authorization_id", Id, ForeignKey("app_authorization.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("redirect_uri", Text, nullable=False),
    Column("challenge", Text),
    Column("expiry", Moment, nullable=False),
    Column("used", Flag, nullable=False),
)

refresh = table(
    "refresh_token",
    identity(),
    Column("authorization_id", Id, ForeignKey("app_authorization.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("expiry", Moment, nullable=False),
    Column("used", Flag, nullable=False),
)

# A link that lets its holder set a password: an invitation, or a reset.
link = table(
    "password_link",
    identity(),
    Column("user_id", Id, ForeignKey("account_user.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("purpose", Text, nullable=False),
    Column("expiry", Moment, nullable=False),
)
