"""SSH keys of the user who asks."""
