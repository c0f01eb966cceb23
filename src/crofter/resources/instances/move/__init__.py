"""Giving an instance another plan, host or region: resize, mutate, migrate."""
