"""Password guessing: slow for attackers, without locking out the owner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from crofter.login.guesses import network_of
from tests.cloud import Cloud
from tests.login.test_signing_in import code_now, two_factors, wrong_codes
from tests.login.visitor import PASSWORD, Visitor, give_password

Elsewhere = Callable[[int], Visitor]


@pytest.fixture
def at() -> Iterator[Callable[[Cloud, int], Visitor]]:
    """Return visitors with other addresses of this machine."""
    clients: list[httpx2.Client] = []

    def visitor(cloud: Cloud, number: int) -> Visitor:
        made = Visitor(cloud)
        transport = httpx2.HTTPTransport(local_address=f"127.0.0.{number}", verify=False)
        made.http = httpx2.Client(base_url=cloud.url, headers={"Accept": "text/html"}, timeout=30, transport=transport)
        clients.append(made.http)
        return made

    yield visitor
    for client in clients:
        client.close()


@pytest.fixture
def elsewhere(cloud: Cloud, at: Callable[[Cloud, int], Visitor]) -> Elsewhere:
    return lambda number: at(cloud, number)


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Callable[..., Cloud]]:
    """Return a cloud with the user ada, its own limits, and a frozen clock."""
    clouds: list[Cloud] = []

    def made(**limits: str) -> Cloud:
        file = tmp_path / "crofter.toml"
        file.write_text("[rate_limits]\n" + "".join(f'{name} = "{limit}"\n' for name, limit in limits.items()))
        cloud = Cloud(config=str(file))
        clouds.append(cloud)
        cloud.freeze()
        cloud.account(username="ada", email="ada@example.com")
        give_password(cloud, "ada")
        return cloud

    yield made
    for cloud in clouds:
        cloud.close()


def guesses(visitor: Visitor, times: int, name: str = "ada") -> list[int]:
    return [visitor.signs_in(name, "wrong").status_code for _ in range(times)]


@pytest.mark.both
def test_the_right_password_from_another_address_is_not_refused_for_guesses_of_others(
    cloud: Cloud, ada: Visitor, elsewhere: Elsewhere
) -> None:
    cloud.freeze()
    strangers = [elsewhere(number) for number in range(2, 8)]
    for stranger in strangers:
        assert guesses(stranger, 6) == [401] * 5 + [429]
    assert ada.signs_in("ada", "mistyped").status_code == 401
    assert ada.signs_in("ada").status_code == 303
    # And it goes on: the success of the owner has given the strangers nothing.
    assert [stranger.signs_in("ada").status_code for stranger in strangers] == [429] * len(strangers)
    assert elsewhere(9).signs_in("ada").status_code == 303


def test_who_goes_on_guessing_shares_a_slow_pace_with_all_others_who_do(
    limited: Callable[..., Cloud], at: Callable[[Cloud, int], Visitor]
) -> None:
    cloud = limited(login_name="4 per 1 minute")
    strangers = [at(cloud, number) for number in range(2, 10)]
    for stranger in strangers:
        guesses(stranger, 5)
    hashed = 0
    for _ in range(4):
        cloud.advance(240)  # each of them may try again by now, as far as its own waits go
        answers = [stranger.signs_in("ada", "wrong") for stranger in strangers]
        hashed += sum(answer.status_code == 401 for answer in answers)
        assert {answer.headers["retry-after"] for answer in answers if answer.status_code == 429} <= {"15", "240"}
        assert at(cloud, 99).signs_in("ada").status_code == 303  # the owner at a new address meets none of them
    assert hashed == 16  # four at a time, of eight who tried


def test_even_fresh_addresses_without_end_leave_a_bounded_number_of_guesses_and_short_waits(
    limited: Callable[..., Cloud], at: Callable[[Cloud, int], Visitor]
) -> None:
    cloud = limited(login_newcomers="6 per 1 minute")
    assert [at(cloud, number).signs_in("ada", "wrong").status_code for number in range(2, 12)] == [401] * 6 + [429] * 4
    owner = at(cloud, 99)
    refused = owner.signs_in("ada")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    assert "Too many are trying to sign in with this name. Try again in 10 seconds" in refused.text
    cloud.advance(10)
    assert owner.signs_in("ada").status_code == 303
    owner.http.cookies.delete("crofter_session")
    assert owner.signs_in("ada").status_code == 303  # from a browser that is known by now


def test_a_browser_that_was_signed_in_before_does_not_wait_for_others(
    limited: Callable[..., Cloud], at: Callable[[Cloud, int], Visitor]
) -> None:
    cloud = limited(login_newcomers="6 per 1 minute", login_address="7 per 15 minute")
    owner = at(cloud, 2)
    assert owner.signs_in("ada").status_code == 303
    owner.goes_to("/login/logout")
    owner.sends()
    neighbour = at(cloud, 2)  # at the very same address
    assert guesses(neighbour, 6) == [401] * 5 + [429]
    assert guesses(neighbour, 3, "bob") == [401, 401, 429]
    assert at(cloud, 3).signs_in("ada", "wrong").status_code == 401
    assert at(cloud, 4).signs_in("ada").status_code == 429
    assert owner.signs_in("ada").status_code == 303


@pytest.mark.both
def test_in_a_known_browser_guesses_are_as_few_and_disturb_nobody(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    ada.signs_in("ada")
    ada.http.cookies.delete("crofter_session")
    assert guesses(ada, 6) == [401] * 5 + [429]
    assert ada.signs_in("ada").headers["retry-after"] == "60"
    assert Visitor(cloud).signs_in("ada").status_code == 303


@pytest.mark.parametrize("spoiled", ["another person", "another name", "a proof made up", "no proof", "a new password"])
def test_a_browser_is_known_by_its_proof_alone(cloud: Cloud, ada: Visitor, elsewhere: Elsewhere, spoiled: str) -> None:
    cloud.freeze()
    browser = elsewhere(2)
    browser.signs_in("ada")
    name, _, proof = browser.http.cookies["crofter_known"].partition(".")
    if spoiled == "another person":
        cloud.account(username="bob", email="bob@example.com")
        give_password(cloud, "bob")
        bob = elsewhere(3)
        bob.signs_in("bob")
        name, _, proof = bob.http.cookies["crofter_known"].partition(".")
    if spoiled == "a new password":
        give_password(cloud, "ada", PASSWORD)  # the same one, hashed anew
    changed = {"another name": f"{'0' * 32}.{proof}", "a proof made up": f"{name}.{'0' * 64}", "no proof": name}
    stranger = elsewhere(4)
    assert guesses(stranger, 6) == [401] * 5 + [429]
    stranger.http.cookies.set("crofter_known", changed.get(spoiled, f"{name}.{proof}"), domain="127.0.0.1")
    assert stranger.signs_in("ada").status_code == 429


def test_who_has_changed_the_password_goes_on_in_a_known_browser(cloud: Cloud, ada: Visitor) -> None:
    cloud.freeze()
    ada.signs_in("ada")
    ada.goes_to("/login/change")
    new = "nine-geese-over-a-grey-lake"
    assert ada.sends(present=PASSWORD, password=new, again=new).status_code == 303
    assert guesses(Visitor(cloud), 6) == [401] * 5 + [429]  # from the same address
    ada.http.cookies.delete("crofter_session")
    assert ada.signs_in("ada", new).status_code == 303


def test_a_code_of_the_second_factor_does_not_wait_for_others(
    limited: Callable[..., Cloud], at: Callable[[Cloud, int], Visitor]
) -> None:
    cloud = limited(login_newcomers="2 per 1 hour")
    codes, _ = two_factors(cloud)
    code = code_now(cloud, codes)
    assert [at(cloud, number).signs_in("ada", "wrong").status_code for number in (2, 3, 4)] == [401, 401, 429]
    owner = at(cloud, 5)
    refused = owner.signs_in("ada")
    assert refused.status_code == 429
    assert "tfa_code" in owner.forms[-1][1]  # shown for every name
    assert owner.sends(username="ada", password=PASSWORD, tfa_code=wrong_codes(cloud, codes)[0]).status_code == 429
    assert owner.sends(username="ada", password=PASSWORD, tfa_code=code).status_code == 303


@pytest.mark.both
def test_codes_are_counted_by_name_wherever_they_come_from(cloud: Cloud, ada: Visitor, elsewhere: Elsewhere) -> None:
    cloud.freeze()
    codes, _ = two_factors(cloud)
    ada.signs_in("ada", tfa_code=code_now(cloud, codes))  # a browser that is known from now on
    statuses = []
    for number, code in enumerate(wrong_codes(cloud, codes)[:7], 2):
        thief = elsewhere(number)  # knows the password
        thief.signs_in("ada")
        statuses.append(thief.sends(tfa_code=code).status_code)
    assert statuses == [401] * 5 + [429] * 2
    ada.http.cookies.delete("crofter_session")
    assert ada.signs_in("ada", tfa_code=code_now(cloud, codes)).status_code == 303


def test_a_name_that_nobody_has_is_answered_in_the_same_way(
    limited: Callable[..., Cloud], at: Callable[[Cloud, int], Visitor]
) -> None:
    cloud = limited(login_newcomers="6 per 1 minute", login_name="2 per 1 minute")
    seen: dict[str, list[tuple[int, str | None, str]]] = {"ada": [], "eve": []}
    for name, answers in seen.items():
        for number in (2, 2, 2, 2, 2, 2, 3, 4):
            page = at(cloud, number).signs_in(name, "wrong")
            text = page.text.replace(name, "NAME")
            answers.append((page.status_code, page.headers.get("retry-after"), text[text.index("<form") - 300 :][:200]))
    assert [status for status, *_ in seen["ada"]] == [401] * 5 + [429, 401, 429]
    assert seen["ada"] == seen["eve"]


def test_a_network_of_ipv6_is_one_address() -> None:
    assert network_of("2001:db8:1:2:aaaa::1") == network_of("2001:db8:1:2:bbbb:cccc:dddd:eeee") == "2001:db8:1:2::"
    assert network_of("2001:db8:1:3::1") != network_of("2001:db8:1:2::1")
    assert network_of("::ffff:192.0.2.7") == network_of("192.0.2.7") == "192.0.2.7"
    assert network_of("192.0.2.8") == "192.0.2.8"
    assert network_of("") == ""
