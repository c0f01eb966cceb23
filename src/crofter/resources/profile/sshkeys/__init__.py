"""SSH keys of the current user."""
