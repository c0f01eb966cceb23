"""Transfers: instances that move from one account to another."""
