"""Profile of the current user."""
