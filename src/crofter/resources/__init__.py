"""The resources of the server, each a package with the same layers: api, rules, store, shapes.

A resource of up to about 200 lines has two files: `api.py`, and `store.py` with its shapes, rows and rules (`rules.py`
where it keeps no rows); a larger one has a file for each layer.
"""
