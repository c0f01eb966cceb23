"""What the project runs on itself."""
