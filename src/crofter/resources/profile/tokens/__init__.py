"""Personal access tokens of the current user."""
