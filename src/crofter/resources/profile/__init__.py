"""The profile of the user who asks."""
