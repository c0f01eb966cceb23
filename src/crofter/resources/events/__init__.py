"""The event log, read: what happened on the account."""
