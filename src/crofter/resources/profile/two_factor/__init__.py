"""The second factor of a login: one-time codes."""
