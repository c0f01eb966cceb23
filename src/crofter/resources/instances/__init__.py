"""Compute instances: virtual machines, and all that belongs to one."""
