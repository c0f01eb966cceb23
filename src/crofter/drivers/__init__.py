"""Drivers of external systems. They know no account, event, request or resource."""
