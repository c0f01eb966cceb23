"""Applications that the current user has authorised."""
