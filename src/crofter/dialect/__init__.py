"""Dialects: the interface under another word, and with the responses of other versions of its family.

Loaded only if the settings name a dialect.
"""


class DialectError(Exception):
    """The file of a dialect cannot be served. The text is where and why: ``FILE:LINE: reason``."""
