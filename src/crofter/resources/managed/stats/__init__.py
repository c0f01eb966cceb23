"""What all instances of a managed account use together."""
