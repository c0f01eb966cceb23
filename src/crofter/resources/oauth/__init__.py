"""OAuth clients: applications that act for users who have allowed it."""
