"""Secrets that are followed through a whole house, and looked for wherever they must not be."""
