"""Check of commit messages, and its installation as a git hook."""

import subprocess
from pathlib import Path

import pytest
from tools.commit_message import problems

ROOT = Path(__file__).parents[1]
GOOD = "Fix rounding of partial hours on invoices\n\nA begun hour was billed as none at the end of a month.\n"


def test_a_message_with_subject_and_body_passes() -> None:
    assert problems(GOOD) == []


def test_comments_of_git_are_no_body() -> None:
    assert problems("Fix rounding of partial hours\n\n# Please enter the commit message\n") != []


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("", "empty"),
        ("Fix rounding of partial hours\n", "body"),
        ("Fix rounding of partial hours\n\nCo-authored-by: Ada <ada@example.com>\n", "body"),
        ("Fix rounding of partial hours\nat the end of a month\n", "blank line"),
        ("F" + "i" * 60 + " rounding of hours\n\nWhy.\n", "characters"),
        ("fix rounding of hours\n\nWhy.\n", "capital"),
        ("Fix rounding of hours.\n\nWhy.\n", "full stop"),
        ("Fix\n\nWhy.\n", "three words"),
    ],
)
def test_a_bad_message_is_refused_with_the_reason(message: str, word: str) -> None:
    assert any(word in problem for problem in problems(message))


@pytest.mark.parametrize("subject", ["Merge branch 'main'", 'Revert "Fix rounding"', "fixup! Fix rounding"])
def test_messages_of_git_itself_pass(subject: str) -> None:
    assert problems(subject + "\n") == []


def test_the_hook_refuses_a_commit_without_a_body(tmp_path: Path) -> None:
    message = tmp_path / "message"
    hook = [str(ROOT / ".githooks" / "commit-msg"), str(message)]
    message.write_text(GOOD)
    assert subprocess.run(hook, cwd=ROOT, capture_output=True).returncode == 0
    message.write_text("Fix rounding of partial hours\n")
    refused = subprocess.run(hook, cwd=ROOT, capture_output=True, text=True)
    assert (refused.returncode, "body is missing" in refused.stderr) == (1, True)
