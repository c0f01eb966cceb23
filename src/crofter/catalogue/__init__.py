"""Catalogue of regions, types, images and kernels, in files that an operator can copy, edit and extend."""

from __future__ import annotations

from crofter.catalogue.files import CatalogueError
from crofter.catalogue.loading import load
from crofter.catalogue.table import CatalogueTable, Entry, Offered

__all__ = ["CatalogueError", "CatalogueTable", "Entry", "Offered", "load"]
