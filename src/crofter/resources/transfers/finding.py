"""How a path names a transfer."""

from __future__ import annotations

from typing import Annotated

from crofter.edge.endpoint import Found
from crofter.resources.transfers import store

TheTransfer = Annotated[store.Transfer, Found(store.one, "token")]
TheSentTransfer = Annotated[store.Transfer, Found(store.sent, "token")]
