"""The nodes behind a port of a load balancer."""
