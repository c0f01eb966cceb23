"""Grants: what a restricted user may do, on the account and with each object."""
