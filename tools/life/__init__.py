"""The life of an account, played on a server that runs here: from it come the examples of the OpenAPI document.

The clock stands still and chance has a seed, so that every run gives the same bytes.
"""
