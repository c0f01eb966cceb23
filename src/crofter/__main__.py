"""``python -m crofter`` is ``crofter``."""

from crofter.cli import main

main()
