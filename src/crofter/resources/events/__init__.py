"""The journal, read: what happened on the account."""
