"""Notifications: what the account should know, worked out from how things are."""
