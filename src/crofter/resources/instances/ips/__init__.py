"""The addresses of an instance."""
