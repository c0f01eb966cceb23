"""Browsers that the current user trusts."""
