"""Records: what the names of a domain stand for."""
