"""What is written of a path into the log."""

from __future__ import annotations

import pytest

from crofter.corridor import ENDPOINTS
from crofter.edge.legible import legible, words_of

WORDS = words_of(("v4/v4beta", *(one.path for one in ENDPOINTS)))
BY_NAME = {one.name: one for one in ENDPOINTS}


@pytest.mark.parametrize(
    ("path", "operation", "status", "logged"),
    [
        ("/v4/compute/instances/12/disks/7", "view_disk", 200, "/v4/compute/instances/12/disks/7"),
        ("/v4/compute/instances/12/disks/7", "view_disk", 404, "/v4/compute/instances/12/disks/7"),
        ("/v4/account/users/bob", "view_user", 200, "/v4/account/users/bob"),
        ("/v4/account/users/hunter2", "view_user", 404, "/v4/account/users/*"),
        ("/v4/account/users/hunter2/", "view_user", 401, "/v4/account/users/*"),
        ("/v4/profile/tokens/ccp_abc", None, 404, "/v4/profile/tokens/*"),
        ("/v4/account/credit-card/4111111111111111", None, 404, "/v4/account/credit-card/*"),
        ("/v4/account/credit-card/737", None, 404, "/v4/account/credit-card/*"),
        ("/v4/account/users/737", "view_user", 404, "/v4/account/users/*"),
        ("/v4//account/users/hunter2", "view_user", 404, "/v4/account/users/*"),
        ("/v4/images/private/hunter2", "view_image", 404, "/v4/images/*"),
        ("/hunter2", None, 404, "/*"),
        ("/v4//hunter2?", None, 404, "/v4//*"),
        ("/v4/account/service-transfers/1-2-3", "view_service_transfer", 200, "/v4/account/service-transfers/*"),
    ],
)
def test_names_are_logged_when_they_were_names(path: str, operation: str | None, status: int, logged: str) -> None:
    assert legible(path, BY_NAME[operation] if operation else None, status, WORDS) == logged
