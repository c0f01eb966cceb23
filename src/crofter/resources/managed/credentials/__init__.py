"""Credentials: what the experts sign in with, sealed."""
