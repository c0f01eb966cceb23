"""Passwords: which ones are easy to guess, and that none takes long to judge."""

from __future__ import annotations

from typing import Any

import pytest
import zxcvbn

from crofter.passwords import guessable, weakness

LIKE_LETTERS = "4@8({[<369&#!1|05$7+%2"
"""Each of them may stand for several letters, and zxcvbn tries every way to read them."""


@pytest.mark.parametrize(
    "password",
    ["a-long-Winding-r0ad", "correct horse battery staple", "x" * 16 + "Vq9$kLm2Zp7!", (LIKE_LETTERS * 6)[:128]],
)
def test_what_is_hard_to_guess_anywhere_is_strong(password: str) -> None:
    assert guessable(password) is None


@pytest.mark.parametrize("password", ["password", "passwordpassword", "x" * 128, "ab" * 64, "password" * 16])
def test_what_is_easy_to_guess_everywhere_is_weak(password: str) -> None:
    assert guessable(password) is not None


def test_what_is_known_of_somebody_is_guessed_first() -> None:
    for known in ("marmaduke-th", "marmaduke@example.org"):
        assert guessable(known) is None
        assert guessable(known, "marmaduke", known) is not None
        assert guessable(f"{known.upper()}-77", known) is not None
        assert guessable(f"{known} Vq9$kLm2Zp7!", known) is None


def test_a_refusal_says_why_and_what_would_do() -> None:
    refusal = weakness("passwordpassword")
    assert refusal is not None
    assert refusal.endswith("Use a few words that do not belong together.")
    assert weakness("short") == "Length must be 8-128 characters"


@pytest.mark.parametrize("password", [(LIKE_LETTERS * 6)[:128], "x" * 128, "ab" * 64])
def test_never_more_is_judged_at_once_than_can_be_judged_quickly(
    monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    lengths: list[int] = []

    def judge(piece: str, **options: Any) -> dict[str, Any]:
        lengths.append(len(piece))
        return dict(real(piece, **options))

    real = zxcvbn.zxcvbn
    monkeypatch.setattr(zxcvbn, "zxcvbn", judge)
    guessable(password)
    assert lengths
    assert max(lengths) <= (10 if guessable(password) is None else 16)
