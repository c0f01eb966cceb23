"""Managed: monitoring of services, and what the experts need to set them right."""
