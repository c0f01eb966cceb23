"""Plain English of docstrings and comments: signs of unclear sentences, with a limit for each.

``python tools/prose.py FOLDER…`` prints the share of each sign, and ``--list`` the places. A sign is a hint: the
goal is that a reader understands a function without the lines around it.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "tools", "bench")

# Directives for tools are no sentences.
_DIRECTIVES = ("noqa", "type:", "!", "pragma")


class Sign(NamedTuple):
    """A pattern of unclear sentences, with the highest share that is accepted."""

    name: str
    pattern: re.Pattern[str]
    percent: float
    advice: str


class Text(NamedTuple):
    """A docstring, or the comments of consecutive lines."""

    line: int
    words: str


_OPENINGS = (
    *("what", "who", "whoever", "whatever", "whose", "which", "whether", "those", "of", "as", "so", "that"),
    *("it", "they", "one", "all", "by", "nobody", "nothing"),
)
_SHORT = r"^(?=(?:\S+\s+){0,8}\S+$)(?=.*\b(?:it|its|them|they|those|one|this)\b)(?!.*[`(:]).*\.$"


def _sign(name: str, pattern: str, percent: float, advice: str) -> Sign:
    return Sign(name, re.compile(pattern, re.IGNORECASE), percent, advice)


def _words(*words: str) -> str:
    return rf"\b(?:{'|'.join(words)})\b"


SIGNS = (
    _sign("opening clause", rf"^(?:{'|'.join(_OPENINGS)}) ", 3.0, "begin with a verb or a noun"),
    _sign("nobody", _words("nobody", "somebody", "anybody", "everybody"), 0.3, "name the role: caller, user, worker"),
    _sign("whoever", _words("whoever", "whatever", "whichever"), 0.3, "name the person or the thing"),
    _sign("tell", _words("tell", "tells", "telling", "told"), 0.5, "return, report, notify, log"),
    _sign("ask", _words("asks", "asked", "asking"), 0.5, "request, query, call, poll"),
    _sign(
        "metaphor",
        _words("journey", "stranger", "riddle", "by and by", "patiently", "travell?ers?"),
        0.1,
        "use the term",
    ),
    _sign("stands", r"\b(?:stands|stood) (?:still|there)\b|\bclock (?:that )?stands\b", 0.1, "is frozen, is unchanged"),
    _sign("hanging pronoun", _SHORT, 2.0, "name the subject of a short sentence"),
)


def texts_of(source: str) -> list[Text]:
    """Return the docstrings and comments of a file."""
    texts = [*_docstrings(source), *_comments(source)]
    return [text for text in texts if text.words]


def _docstrings(source: str) -> Iterator[Text]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Text(node.lineno, " ".join(node.value.value.split()))


def _comments(source: str) -> Iterator[Text]:
    begin, last, words = 0, 0, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        comment = token.string.lstrip("# -").rstrip(" -") if token.type == tokenize.COMMENT else ""
        if not comment or comment.startswith(_DIRECTIVES):
            continue
        if words and token.start[0] == last + 1:
            words = f"{words} {comment}"
        else:
            yield Text(begin, words)
            begin, words = token.start[0], comment
        last = token.start[0]
    yield Text(begin, words)


def places(texts: Iterable[Text], sign: Sign) -> list[Text]:
    """Return the texts that show the sign."""
    return [text for text in texts if sign.pattern.search(text.words)]


def files(folder: str) -> list[Path]:
    """Return the Python files of a folder. Landed migrations are never edited."""
    return [file for file in sorted((ROOT / folder).rglob("*.py")) if "migrations" not in file.parts]


def shares(texts: Iterable[Text]) -> dict[str, float]:
    """Return the percentage of texts that show each sign."""
    known = list(texts)
    return {sign.name: 100 * len(places(known, sign)) / max(1, len(known)) for sign in SIGNS}


def excessive(texts: Iterable[Text]) -> list[str]:
    """Return the signs whose share exceeds the limit, with advice."""
    measured = shares(texts)
    over = [sign for sign in SIGNS if measured[sign.name] > sign.percent]
    return [f"{sign.name}: {measured[sign.name]:.2f} %, {sign.advice}" for sign in over]


def main() -> int:
    """Print shares or places of the given folders. The exit code is 1 if a share exceeds its limit."""
    parser = argparse.ArgumentParser(description="Measure the English of docstrings and comments.")
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    parser.add_argument("--list", action="store_true", help="print every place with a sign")
    arguments = parser.parse_args()
    by_file = {
        file: texts_of(file.read_text(encoding="utf-8")) for folder in arguments.folders for file in files(folder)
    }
    if arguments.list:
        for file, texts in by_file.items():
            for sign in SIGNS:
                for text in places(texts, sign):
                    print(f"{file.relative_to(ROOT)}:{text.line}: {sign.name}: {text.words[:120]}")
        return 0
    texts = [text for file in by_file.values() for text in file]
    for name, share in shares(texts).items():
        print(f"{name:16} {share:6.2f} %")
    wrong = excessive(texts)
    print("\n".join(wrong) or "every share is within its limit")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
