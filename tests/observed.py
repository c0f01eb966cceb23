"""Observations of a cloud: reasons of refusals, actions of an account, mails of the outbox."""

from __future__ import annotations

from typing import Any

import httpx2

from tests.cloud import Cloud

Reasons = list[tuple[str | None, str]]


def errors(answer: Any) -> Reasons:
    """The refusals of an answer, as (field, reason)."""
    return [(error.get("field"), error["reason"]) for error in answer.json()["errors"]]


def actions(client: httpx2.Client) -> list[str]:
    """Return the actions of an account, newest first."""
    return [event["action"] for event in client.get("/v4/account/events").json()["data"]]


def mails(cloud: Cloud) -> list[dict[str, Any]]:
    """Return the mails, newest first."""
    return list(cloud.sandbox.get("/_sandbox/outbox").json()["mails"])
