"""crofter: the smallholder's cloud, in one process."""

__version__ = "0.1.0"
SPEC_VERSION = "4.115.0"
