"""Personal access tokens of the user who asks."""
