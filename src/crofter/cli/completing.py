"""Completion of the server's own commands in shells, from the same parser that reads them."""

from __future__ import annotations

import argparse


def candidates(parser: argparse.ArgumentParser, typed: list[str]) -> list[str]:
    """Return the completions of the last word; an empty list where the shell may complete file names."""
    *before, last = typed
    for word in before:
        parser = _commands(parser).get(word, parser)
    option = parser._option_string_actions.get(before[-1])
    if option is not None and option.nargs != 0:  # the option takes a value
        known = [str(choice) for choice in option.choices or ()]
    elif last.startswith("-"):
        known = list(parser._option_string_actions)
    else:
        known = list(_commands(parser))
    return [word for word in known if word.startswith(last)]


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the subcommands by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}
