"""Benchmarks of `make bench`: CPU per request against a ceiling, growth with the account, start and memory."""
