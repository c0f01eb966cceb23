"""Usage of an instance: statistics and traffic."""
