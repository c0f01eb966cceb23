"""Total usage of the instances of a managed account."""
