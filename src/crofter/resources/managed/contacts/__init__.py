"""Contacts: people who are notified of problems."""
