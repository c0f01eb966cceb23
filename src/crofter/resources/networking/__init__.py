"""The addresses of an account: those of all its instances, ranges, and private networks."""
