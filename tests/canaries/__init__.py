"""Secrets that are followed through a whole server, and looked for wherever they must not be."""
