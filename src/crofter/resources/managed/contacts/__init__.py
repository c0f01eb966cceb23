"""Contacts: people who are told when something is wrong."""
