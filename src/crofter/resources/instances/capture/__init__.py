"""Images of accounts: made from disks and from files, and deleted."""
