"""Preferences that a client stores for the current user."""
