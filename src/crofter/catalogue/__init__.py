"""What the house offers, in files that an operator can copy, edit and add to."""

from __future__ import annotations

from crofter.catalogue.files import CatalogueError
from crofter.catalogue.loading import load
from crofter.catalogue.shelf import Entry, Offered, Shelf

__all__ = ["CatalogueError", "Entry", "Offered", "Shelf", "load"]
