"""Turning an instance on and off: boot, reboot, shutdown, rescue."""
