"""How a path names a transfer."""

from __future__ import annotations

from typing import Annotated

from crofter.edge.endpoint import Lookup
from crofter.resources.transfers import store

TheTransfer = Annotated[store.Transfer, Lookup(store.one, "token")]
TheSentTransfer = Annotated[store.Transfer, Lookup(store.sent, "token")]
