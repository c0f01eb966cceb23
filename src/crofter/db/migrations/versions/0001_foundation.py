"""x"""

revision = "0001"
down_revision = None
