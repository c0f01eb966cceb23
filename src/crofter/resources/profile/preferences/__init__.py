"""Whatever a client wants to remember for the user who asks."""
