"""Shell completion: a short script for each shell, which calls ``crofter __complete``."""

from __future__ import annotations

from crofter.client import flags, formats, profiles, tree
from crofter.client.exits import USAGE, Stop

BASH = """\
_crofter() {
    local IFS=$'\\n'
    COMPREPLY=($(crofter __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default 2>/dev/null
}
complete -F _crofter crofter
"""
ZSH = """\
#compdef crofter
_crofter() {
    local -a found
    found=("${(@f)$(crofter __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _crofter crofter
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH}


def script(arguments: list[str]) -> str:
    if len(arguments) != 1 or arguments[0] not in SCRIPTS:
        raise Stop(USAGE, "crofter completion bash, or crofter completion zsh")
    return SCRIPTS[arguments[0]]


def candidates(others: list[str], typed: list[str]) -> list[str]:
    """Return the completions of the last word. ``others`` are the commands of the server."""
    *before, last = typed or [""]
    commands = tree.load()
    words, command = tree.find(commands, before)
    if command is None:
        known = tree.below(commands, words) if len(words) == len(before) else []
        return _fitting([*known, *(others if not before else [])], last)
    if before[-1] in ("-o", "--output"):
        return _fitting(list(formats.FORMS), last)
    if before[-1] == "--profile":
        return _fitting(profiles.names(), last)
    if before[-1].startswith("--"):
        for field in command.get("fields", ()):
            if flags.flag_of(field["name"]) == before[-1] and "choices" in field:
                return _fitting([str(option) for option in field["choices"]], last)
    return _fitting(list(flags.parser_of(command)._option_string_actions), last) if last.startswith("-") else []


def _fitting(known: list[str], begun: str) -> list[str]:
    return [word for word in known if word.startswith(begun)]
