"""Backups and snapshots of an instance."""
