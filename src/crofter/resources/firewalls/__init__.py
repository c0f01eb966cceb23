"""Firewalls: which traffic reaches an instance, and which leaves it."""
