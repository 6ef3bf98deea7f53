"""The help page of a command: purpose and examples first, then its options by purpose."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, Protocol

_END: Final = "\nExit code:"
_OBJECTS: Final = "serve the dump and use kubectl: simkit serve cluster.yaml"
_GUESSED: Final[Mapping[str, str]] = {
    "get": f"access is in simkit bindings, permissions and who-can; for objects, {_OBJECTS}",
    "describe": f"for objects, {_OBJECTS}",
    "logs": f"for objects, {_OBJECTS}",
    "edit": f"for objects, {_OBJECTS}",
    "apply": "try a change with simkit what-if apply FILE cluster.yaml",
    "delete": "try a change with simkit what-if delete KIND NAME cluster.yaml",
    "auth": "write simkit can-i, or simkit auth can-i",
    "what-can": "write simkit permissions WHO cluster.yaml",
    "roles": "bindings with their roles are in simkit bindings, the rules of a subject in simkit permissions",
    "subjects": "subjects with their bindings are in simkit bindings",
    "graph": "write simkit escalations --graph FILE; the access of a namespace as a graph is cluster.access_graph()",
    "plot": "pictures are written by --plot FILE of exposure, escalations, causes, audit, diff, what-if and upgrade",
    "paths": "write simkit escalations cluster.yaml",
    "compare": "write simkit diff before.yaml after.yaml",
    "report": "write simkit audit cluster.yaml --html report.html, or simkit upgrade --report",
    "scan": "write simkit audit cluster.yaml",
    "simulate": "write simkit what-if, or simkit rehearse",
    "load": f"commands take the path of a dump; {_OBJECTS}",
}
"""Commands that people guess, and what to write instead."""
_GUESSED_OPTIONS: Final[Mapping[str, str]] = {
    "--bloodhound": "write --graph paths.json with simkit escalations",
    "--cis": "write --framework cis",
    "--csv": "write -o csv",
    "--format": "write -o FORMAT",
    "--namespaces": "write -n NAMESPACE",
    "--ns": "write -n NAMESPACE",
    "--xlsx": "write --excel FILE with simkit audit",
    "--why": "ask simkit can-i WHO VERB RESOURCE",
    "--top": "write --best N with simkit cut, and --limit N with simkit escalations; -o csv writes all rows",
    "--limit": "write --limit N with simkit escalations, and --best N with simkit cut; -o csv writes all rows",
    "--audit-log": "a log is read by simkit history, least-privilege, cut, what-if, upgrade and audit",
    "--before": "write --at TIME",
    "--group": "write --subject group:NAME",
    "-f": "name manifests with --manifests PATH",
    "--dark": "write --theme dark beside --plot FILE",
    "--exclude": "write simkit what-if remove WHO cluster.yaml",
    "--ignore": "findings are accepted by --suppress FILE, and subjects left out by simkit what-if remove WHO",
    "--as": "write the subject without an option",
    "--subject": "write the subject without an option",
}
"""Options that people guess of commands without them, and what to write instead."""
_FOR_A_FILE: Final = re.compile(r"argument -o/--output: invalid choice: '([^']*\.[a-z]+)'")
_NO_COMMAND: Final = re.compile(r"argument COMMAND: invalid choice: '(.*)' \(choose from ([^()]*)\)$")


class Listed(Protocol):
    """A command in the list of commands."""

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def group(self) -> str: ...


class PageParser(argparse.ArgumentParser):
    """A parser whose help begins with examples. ``listing``: its commands by group."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"formatter_class": argparse.RawDescriptionHelpFormatter, **more})
        self.listing: Sequence[Listed] = ()
        self.wrong = 2
        """The exit code for wrong use."""
        self._positionals.title, self._optionals.title = "arguments", "options"

    def error(self, message: str) -> NoReturn:
        """Exit with a line that says what is wrong and how to get help."""
        self.exit(self.wrong, f"simkit: {_in_short(message)}; see {self.prog} --help\n")

    def format_help(self) -> str:
        """The page: usage, purpose, examples, commands, arguments and options, exit codes."""
        text = self.epilog or ""
        examples, exits, codes = text.partition(_END)
        formatter = self._get_formatter()
        formatter.add_usage(self._short_usage(), (), ())
        formatter.add_text(self.description)
        formatter.add_text(examples)
        positionals, options, *others = self._action_groups
        for group in (positionals, *others, options):
            if group.title == "commands" and self.listing:
                formatter.add_text(self._commands())
                continue
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(f"{exits}{codes}".strip())
        return formatter.format_help()

    def _short_usage(self) -> str:
        """The positional arguments; options have a section of their own."""
        names = [self._as_shown(action) for action in self._actions if not action.option_strings]
        return " ".join([self.prog, *names, "[OPTIONS]"])

    @staticmethod
    def _as_shown(action: argparse.Action) -> str:
        name = str(action.metavar or action.dest)
        return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ...", "A...": f"{name} ..."}.get(
            str(action.nargs), name
        )

    def _commands(self) -> str:
        lines: list[str] = []
        width = max(len(command.name) for command in self.listing)
        for group in dict.fromkeys(command.group for command in self.listing):
            lines += ["", f"{group}:"]
            lines += [f"  {each.name:{width}}  {each.summary}" for each in self.listing if each.group == group]
        return "\n".join(lines[1:])


def _in_short(message: str) -> str:
    """The message of argparse; of a command that is not there, without the list of all that are."""
    file = _FOR_A_FILE.match(message)
    if file is not None:
        html = f", and a whole report with simkit audit --html {file[1]}" if file[1].endswith("html") else ""
        return f"-o names a format, not a file; write the answer to a file with > {file[1]}{html}"
    wrong = _NO_COMMAND.match(message)
    if wrong is None:
        return message
    if wrong[1] in _GUESSED:
        return f"there is no command {wrong[1]!r}; {_GUESSED[wrong[1]]}"
    from difflib import get_close_matches  # for wrong names alone

    near = get_close_matches(wrong[1], [word.strip(" '") for word in wrong[2].split(",")], n=1)
    return f"there is no command {wrong[1]!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def unknown(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> str:
    """The error of unknown arguments of a command, with similar ones of its own."""
    from difflib import get_close_matches  # for wrong names alone

    options = [option for action in parser._actions for option in action.option_strings]
    wrong = [word for word in arguments if word.startswith("-")] or list(arguments)
    guessed = [_GUESSED_OPTIONS[word] for word in wrong if word in _GUESSED_OPTIONS]
    if parser.prog == "simkit watch" and not wrong[0].startswith("-"):
        guessed = ["it follows a running cluster, of the current context or --context NAME"]
    if guessed:
        return f"unrecognized arguments: {' '.join(wrong)}; {'; '.join(guessed)}"
    near = [found for word in wrong for found in get_close_matches(word.partition("=")[0], options, n=1, cutoff=0.7)]
    hint = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
    return f"unrecognized arguments: {' '.join(wrong)}{hint}"


def add_terminal_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for terminal output to a command and its subcommands."""
    top = parser.prog == "simkit"
    for name, text in (
        ("--quiet", "print only the answer and errors"),
        ("--no-color", "do not use colours (NO_COLOR does the same)"),
        ("--no-pager", "print long answers without a pager"),
    ):
        names = ("-q", name) if name == "--quiet" and "-q" not in parser._option_string_actions else (name,)
        parser.add_argument(*names, action="store_true", default=False if top else argparse.SUPPRESS, help=text)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and not top:
            for below in action.choices.values():
                add_terminal_options(below)
