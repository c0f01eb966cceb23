"""What an instance used: statistics and traffic."""
