"""Domains: zones of the domain name system, and what is in them."""
