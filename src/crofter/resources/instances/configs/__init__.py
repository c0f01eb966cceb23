"""Configuration profiles: what an instance boots with."""
