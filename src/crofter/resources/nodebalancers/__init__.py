"""Load balancers: one address in front of several instances."""
