"""Support: tickets, replies and attachments."""
