"""Longview: clients that report from machines, and the plan that says how many there may be."""
