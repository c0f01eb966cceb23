"""Where the command line of the client begins: which command, or which help."""

from __future__ import annotations

from crofter.client import tree
from crofter.client.exits import OK, USAGE, guarded
from crofter.client.tree import Command

BEFORE = ("--url", "--profile", "--ca", "-o", "--output")
"""Flags that may stand in front of the command, too."""
HELP = ("-h", "--help")
PLACES = "api", "completion", "__complete"
OVERVIEW = (("api", "send any request"), ("completion", "completion for bash and zsh"))


def run(arguments: list[str], others: list[str]) -> int:
    """The others are the commands that are not the client's."""
    front, arguments = flags_in_front(arguments)
    word = arguments[0] if arguments else ""
    if word in PLACES:
        return _place(word, [*arguments[1:], *front], others)
    commands = tree.load()
    words, command = tree.find(commands, arguments)
    if command is not None:
        return _command(commands, command, [*arguments[len(words) :], *front])
    return guarded(lambda: _group(commands, words, arguments[len(words) :], others))


def _command(commands: list[Command], command: Command, arguments: list[str]) -> int:
    from crofter.client import flags  # noqa: PLC0415 - not for the help of groups

    asked = flags.parse(command, arguments)

    def done() -> int:
        from crofter.client.run import Run  # noqa: PLC0415 - HTTP and TLS take longer to load than --help may take

        return Run(commands, command, asked).done()

    return guarded(done, as_json=asked.get("output") == "json")


def flags_in_front(arguments: list[str]) -> tuple[list[str], list[str]]:
    at = 0
    while at < len(arguments) and arguments[at].partition("=")[0] in BEFORE:
        at += 1 if "=" in arguments[at] else 2
    return arguments[:at], arguments[at:]


def _place(word: str, arguments: list[str], others: list[str]) -> int:
    from crofter.client import api, completion  # noqa: PLC0415

    def done() -> int:
        if word == "completion":
            print(completion.script(arguments), end="")
        else:
            print("\n".join(completion.candidates([*others, "api", "completion"], arguments)))
        return OK

    return api.run(arguments) if word == "api" else guarded(done)


def _group(commands: list[Command], words: list[str], rest: list[str], others: list[str]) -> int:
    known = tree.below(commands, words)
    asked = [word for word in rest if word not in HELP]
    if asked:
        raise tree.unknown(asked[0], known if words else [*known, *others, "api", "completion"], words)
    print(group_help(commands, words))
    return OK if rest else USAGE


def group_help(commands: list[Command], words: list[str]) -> str:
    """Return the commands of a group, one line each."""
    listed = [command for command in commands if command["words"][: len(words)] == words]
    lines = [
        (" ".join([*command["words"][len(words) :], *command["args"]]), first_sentence(command)) for command in listed
    ]
    return f"usage: crofter {' '.join(words)} COMMAND\n\n" + columns(lines)


def first_sentence(command: Command) -> str:
    return str(command["help"]).split("; ")[0].rstrip(".").replace("`", "")


def overview() -> list[tuple[str, str]]:
    """The groups of commands, with their verbs."""
    commands = tree.load()
    return [(word, ", ".join(tree.below(commands, [word]))) for word in tree.below(commands, [])]


def columns(lines: list[tuple[str, str]]) -> str:
    import shutil  # noqa: PLC0415
    import textwrap  # noqa: PLC0415

    longest = max((len(left) for left, _ in lines), default=0)
    width = max(shutil.get_terminal_size((100, 24)).columns - longest - 4, 30)
    made = []
    for left, right in lines:
        first, *more = textwrap.wrap(right, width, break_on_hyphens=False) or [""]
        made += [f"  {left:<{longest}}  {first}", *(f"  {'':<{longest}}  {line}" for line in more)]
    return "\n".join(line.rstrip() for line in made)
