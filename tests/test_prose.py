"""English of docstrings and comments, measured over every folder."""

import pytest
from tools.prose import FOLDERS, SIGNS, Sign, excessive, files, places, shares, texts_of

# A sentence for each sign that must be detected.
PLANTED = {
    "opening clause": "What the server answers.",
    "nobody": "The row that nobody reads.",
    "whoever": "Refuse whatever a client sends.",
    "tell": "The waiting request is told.",
    "ask": "Called when a client asks for a page.",
    "metaphor": "A statement is a journey.",
    "stands": "Wait while the clock stands still.",
    "hanging pronoun": "Close it again.",
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_english_of_a_folder_is_plain(folder: str) -> None:
    texts = [text for file in files(folder) for text in texts_of(file.read_text(encoding="utf-8"))]
    assert len(texts) > 50
    assert excessive(texts) == []


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.name)
def test_a_planted_sentence_is_detected_in_a_docstring_and_in_a_comment(sign: Sign) -> None:
    sentence = PLANTED[sign.name]
    for source in (f'"""{sentence}"""\n', f"value = 1  # {sentence}\n"):
        assert [text.words for text in places(texts_of(source), sign)] == [sentence]
        assert any(line.startswith(f"{sign.name}:") for line in excessive(texts_of(source)))


def test_plain_sentences_show_no_sign() -> None:
    source = (
        '"""Return the next due time, or None."""\n# Retry while the database is locked.\nvalue = 1  # noqa: E501\n'
    )
    texts = texts_of(source)
    assert len(texts) == 2
    assert set(shares(texts).values()) == {0.0}


def test_comments_of_consecutive_lines_are_a_single_text() -> None:
    source = "# The first part\n# and the second.\nvalue = 1\n\n# Another text.\n"
    assert [(text.line, text.words) for text in texts_of(source)] == [
        (1, "The first part and the second."),
        (5, "Another text."),
    ]
