"""Check of commit messages: an imperative subject of at most 72 characters, and a body that says why.

Git runs it as the hook ``commit-msg``, which ``make setup`` installs.
"""

import re
import sys
from pathlib import Path

LONGEST_SUBJECT = 72

# Written by git itself.
_GENERATED = re.compile(r"(Merge |Revert \"|fixup! |squash! |amend! )")


def problems(message: str) -> list[str]:
    """Return the problems of a commit message."""
    text = message.partition("# ------------------------ >8 ------------------------")[0]
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith("#")]
    while lines and not lines[0]:
        del lines[0]
    if not lines:
        return ["The message is empty."]
    subject, *rest = lines
    if _GENERATED.match(subject):
        return []
    return [*_about_subject(subject), *_about_body(rest)]


def _about_subject(subject: str) -> list[str]:
    complaints = []
    if len(subject) > LONGEST_SUBJECT:
        complaints.append(f"The subject has {len(subject)} characters; at most {LONGEST_SUBJECT} are allowed.")
    if not subject[0].isupper() or subject.endswith("."):
        complaints.append("The subject must begin with a capital letter and end without a full stop.")
    if len(subject.split()) < 3:
        complaints.append("The subject must name the thing and the change: at least three words.")
    return complaints


def _about_body(rest: list[str]) -> list[str]:
    if rest and rest[0]:
        return ["A blank line must separate subject and body."]
    # Trailers such as Co-authored-by say nothing about the change.
    if not any(line and not re.match(r"[A-Z][A-Za-z-]+: \S", line) for line in rest):
        return ["The body is missing: say in two or three sentences why the change is made."]
    return []


def main() -> int:
    """Check the file that git names, and print the problems."""
    complaints = problems(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for problem in complaints:
        print(f"commit message: {problem}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
