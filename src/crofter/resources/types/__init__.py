"""Types: the sizes that instances come in, and what they cost."""
