"""Regions: where things can be."""
