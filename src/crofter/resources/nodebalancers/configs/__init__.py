"""Configs of a load balancer, each for a port."""
