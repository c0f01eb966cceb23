"""The life of an account on a local server, from which the examples of the OpenAPI document are recorded.

The clock is frozen and randomness seeded, so that every run gives the same bytes.
"""
