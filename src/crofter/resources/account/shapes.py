"""Contact data and settings of an account as they are sent and shown."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from crofter.resources.account.checks import check_country, check_email, check_phone, check_zip
from crofter.shapes import UNSET, Body, Optional, View

Text24 = Annotated[str, Meta(max_length=24)]
Text50 = Annotated[str, Meta(max_length=50)]
Text64 = Annotated[str, Meta(max_length=64)]
Text100 = Annotated[str, Meta(max_length=100)]
Text128 = Annotated[str, Meta(max_length=128)]
Email = Annotated[str, Meta(max_length=128, extra={"check": check_email})]
Phone = Annotated[str, Meta(max_length=32, extra={"check": check_phone})]
Country = Annotated[
    str,
    Meta(max_length=2, description="Two letters.", extra={"check": check_country, "reason": "country is not valid"}),
]
Zip = Annotated[str, Meta(max_length=32, extra={"check": check_zip})]


class AccountUpdate(Body):
    active_promotions: Optional[Annotated[list[Any], Meta(description="Read-only, and ignored.")]] = UNSET
    address_1: Optional[Text64] = UNSET
    address_2: Optional[Text64] = UNSET
    city: Optional[Text24] = UNSET
    company: Optional[Text128] = UNSET
    country: Optional[Country] = UNSET
    email: Optional[Email] = UNSET
    first_name: Optional[Text50] = UNSET
    last_name: Optional[Text50] = UNSET
    phone: Optional[Phone] = UNSET
    state: Optional[Text24] = UNSET
    tax_id: Optional[Text100] = UNSET
    zip: Optional[Zip] = UNSET


class SettingsView(View):
    """Settings of the whole account."""

    backups_enabled: bool
    longview_subscription: str | None
    managed: bool
    network_helper: bool
    object_storage: Literal["disabled", "suspended", "active"]


class SettingsUpdate(Body):
    backups_enabled: Optional[bool] = UNSET
    network_helper: Optional[bool] = UNSET
