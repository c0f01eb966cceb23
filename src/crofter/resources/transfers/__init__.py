"""Transfers: instances that change hands between accounts."""
