"""Pictures from strangers: decoded and cleaned in a process that can do nothing else."""

from crofter.drivers.pictures.image_cleaner import Crowded, cleaned, decodes
from crofter.drivers.pictures.wire import Kind, Unfit

__all__ = ["Crowded", "Kind", "Unfit", "cleaned", "decodes"]
