"""Maintenance that the operator has scheduled, as owners of instances see it."""
