"""Browsers that the user who asks trusts."""
