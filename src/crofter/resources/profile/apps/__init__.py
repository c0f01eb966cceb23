"""Applications that the user who asks has let in."""
