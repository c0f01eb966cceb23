"""Paths in the log."""

from __future__ import annotations

import pytest

from crofter.edge.redact import redact_path, words_of
from crofter.registry import ENDPOINTS

WORDS = words_of(("v4/v4beta", *(endpoint.path for endpoint in ENDPOINTS)))
BY_NAME = {endpoint.name: endpoint for endpoint in ENDPOINTS}


@pytest.mark.parametrize(
    ("path", "operation", "refused", "logged"),
    [
        ("/v4/compute/instances/12/disks/7", "view_disk", False, "/v4/compute/instances/12/disks/7"),
        ("/v4/compute/instances/12/disks/7", "view_disk", True, "/v4/compute/instances/12/disks/7"),
        ("/v4/account/users/bob", "view_user", False, "/v4/account/users/bob"),
        ("/v4/account/users/hunter2", "view_user", True, "/v4/account/users/*"),
        ("/v4/account/users/hunter2/", "view_user", True, "/v4/account/users/*"),
        ("/v4/profile/tokens/ccp_abc", None, True, "/v4/profile/tokens/*"),
        ("/v4/account/credit-card/4111111111111111", None, True, "/v4/account/credit-card/*"),
        ("/v4/account/credit-card/737", None, True, "/v4/account/credit-card/*"),
        ("/v4/account/users/737", "view_user", True, "/v4/account/users/*"),
        ("/v4//account/users/hunter2", "view_user", True, "/v4/account/users/*"),
        ("/v4/images/private/hunter2", "view_image", True, "/v4/images/*"),
        ("/v4/account/invoices/12345", "view_invoice", True, "/v4/account/invoices/12345"),
        ("/v4/account/invoices/4111111111111111", "view_invoice", True, "/v4/account/invoices/*"),
        ("/hunter2", None, True, "/*"),
        ("/v4//hunter2?", None, True, "/v4//*"),
        ("/v4/account/service-transfers/1-2-3", "view_service_transfer", False, "/v4/account/service-transfers/*"),
    ],
)
def test_names_are_logged_when_they_were_names(path: str, operation: str | None, refused: bool, logged: str) -> None:
    assert redact_path(path, BY_NAME[operation] if operation else None, WORDS, refused=refused) == logged
