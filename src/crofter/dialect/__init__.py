"""Dialects: the interface under another word, and with the answers of other versions of its family.

Nothing here is loaded unless a server is told to speak one.
"""


class DialectError(Exception):
    """The file of a dialect cannot be served. The text is where and why: ``FILE:LINE: reason``."""
