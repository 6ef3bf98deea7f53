"""The reference of the command line, made from its parsers."""

from __future__ import annotations

import argparse
from typing import Final

from simkit.cli import COMMANDS, Command, fill_parser
from simkit.cli.pages import PageParser

WIDTH: Final = 100


def command_pages() -> dict[str, str]:
    """One page per command, and a page that lists them, by path."""
    pages = {f"reference/commands/{command.name}.md": _page(command) for command in COMMANDS}
    return {**pages, "reference/commands/index.md": _index()}


def _index() -> str:
    lines = [
        "# Commands",
        "",
        "Each page is what `simkit COMMAND --help` prints. Exit codes are 0 for fine or yes, 1 for",
    ]
    lines += ["findings or no, 2 for wrong use and unreadable input.", ""]
    for group in dict.fromkeys(command.group for command in COMMANDS):
        lines += [f"## {group[0].upper()}{group[1:]}", "", "| command | what it does |", "| --- | --- |"]
        lines += [f"| [{one.name}]({one.name}.md) | {one.summary} |" for one in COMMANDS if one.group == group]
        lines.append("")
    names = "\n".join(command.name for command in COMMANDS)
    return "\n".join(lines) + f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def _page(command: Command) -> str:
    """The help of a command and of the commands below it."""
    parser = parser_of(command)
    parts = [f"# simkit {command.name}", "", f"{command.summary[0].upper()}{command.summary[1:]}.", "", _help(parser)]
    for name, below in _below(parser).items():
        parts += [f"## simkit {command.name} {name}", "", _help(below)]
    return "\n".join(parts)


def parser_of(command: Command) -> argparse.ArgumentParser:
    """The parser of a command, as the command line makes it."""
    made: PageParser = PageParser(prog="simkit").add_subparsers().add_parser(command.name)
    fill_parser(made, command)
    return made


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return {
        name: below
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, below in action.choices.items()
    }


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = _Formatter
    return f"```text\n{parser.format_help().rstrip()}\n```\n"


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help of one width, whatever terminal builds the site."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=WIDTH)
