"""The audit log: who changed what, from where, in chains that cannot be altered unnoticed."""

from crofter.audit.checkpoints import Checkpoint, begin, read_file, take, write_file
from crofter.audit.tables import AuditEntry, StoredEntry, Tampering, audit
from crofter.audit.verifying import verify
from crofter.audit.writing import append, entries, write, write_without_token

__all__ = [
    "AuditEntry",
    "Checkpoint",
    "StoredEntry",
    "Tampering",
    "append",
    "audit",
    "begin",
    "entries",
    "read_file",
    "take",
    "verify",
    "write",
    "write_file",
    "write_without_token",
]
