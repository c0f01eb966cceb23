"""Volumes: block storage that outlives the instance it is attached to."""
