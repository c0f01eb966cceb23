"""Issues: outages that monitoring has found."""
