"""The help page of a command: purpose and examples first, then its options by purpose."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from simkit.meta.wrong_names import by_word

_END: Final = "\nExit code:"
_OBJECTS: Final = "serve the dump and use kubectl: simkit serve cluster.yaml"
_PICTURES: Final = "pictures are written by --plot FILE of exposure, escalations, causes, audit, diff, what-if, upgrade"
_PAST: Final = "write simkit history since WHO VERB RESOURCE; two dumps are compared by simkit diff"
_GUESSED: Final = by_word({
    "get ls list show": f"access is in simkit bindings, permissions and who-can; for objects, {_OBJECTS}",
    "describe logs edit top kubectl": f"for objects, {_OBJECTS}",
    "apply": "try a change with simkit what-if apply FILE cluster.yaml",
    "delete remove": "try a change with simkit what-if delete KIND NAME cluster.yaml",
    "auth": "write simkit can-i, or simkit auth can-i",
    "what-can access": "write simkit permissions WHO cluster.yaml",
    "anonymous": "write simkit permissions system:anonymous cluster.yaml",
    "exec": "write simkit who-can exec cluster.yaml",
    "explain why": "write simkit can-i WHO VERB RESOURCE cluster.yaml",
    "roles rules": "bindings with their roles are in simkit bindings, the rules of a subject in simkit permissions",
    "subjects users groups serviceaccounts sa": "subjects with their bindings are in simkit bindings",
    "graph": "write simkit escalations --graph FILE; in Python, cluster.access_graph(namespace=...)",
    "plot": _PICTURES,
    "paths privesc": "write simkit escalations cluster.yaml",
    "fix remediate": "write simkit causes cluster.yaml, or simkit cut cluster.yaml --best 5",
    "compare": "write simkit diff before.yaml after.yaml",
    "changes": "write simkit diff before.yaml after.yaml, or simkit history changes cluster.yaml --audit-log PATH",
    "since since-when": _PAST,
    "stale stale-bindings unused": "write simkit audit cluster.yaml --stale",
    "report": "write simkit audit cluster.yaml --html report.html, or simkit upgrade --report",
    "export": "every command writes its answer as -o csv, json, yaml, markdown or html",
    "scan lint rbac": "write simkit audit cluster.yaml",
    "validate verify": "write simkit check FILE cluster.yaml for access, simkit upgrade PATH --to 1.36 for manifests",
    "removals removed deprecated": "write simkit removal-report RELEASE cluster.yaml",
    "simulate": "write simkit what-if, or simkit rehearse",
    "load": f"commands take the path of a dump; {_OBJECTS}",
    "course lessons teach": "simkit notebooks --to FOLDER copies the course, too",
    "playground browser web ui": "in a checkout, make playground builds the page; simkit notebooks copies the lessons",
})  # fmt: skip
"""Commands that people guess, and what to write instead."""
_GUESSED_OPTIONS: Final = by_word({
    "--bloodhound": "write --graph paths.json with simkit escalations",
    "--cis": "write --framework cis",
    "--csv": "write -o csv",
    "--json": "write -o json",
    "--html": "write -o html > FILE",
    "--format": "write -o FORMAT",
    "--to --out --output-file": "write the answer to a file with > FILE, such as -o csv > FILE",
    "--namespaces --ns": "write -n NAMESPACE",
    "--xlsx --excel": "write --excel FILE with simkit audit, or -o csv > FILE",
    "--why": "ask simkit can-i WHO VERB RESOURCE",
    "--top --limit": "write --limit N with simkit escalations, and --best N with simkit cut; -o csv writes all rows",
    "--log": "write --audit-log PATH",
    "--audit-log": "a log is read by simkit history, least-privilege, cut, what-if, upgrade and audit",
    "--before": "write --at TIME",
    "--since --since-when": _PAST,
    "--stale --unused": "leftovers are listed by simkit audit --stale",
    "--anonymous": "write simkit permissions system:anonymous cluster.yaml",
    "--group": "write --subject group:NAME",
    "-f": "name manifests with --manifests PATH",
    "--plot": _PICTURES,
    "--dark": "write --theme dark beside --plot FILE",
    "--exclude": "write simkit what-if remove WHO cluster.yaml",
    "--ignore": "findings are accepted by --suppress FILE, and subjects left out by simkit what-if remove WHO",
    "--as --subject": "what a subject may do is in simkit permissions WHO and simkit can-i WHO VERB RESOURCE",
    "--ci --exit-code": "the exit code always tells the outcome, as the end of --help says",
    "--demo": "simkit redact --demo --to FILE writes the demo cluster",
})  # fmt: skip
"""Options that people guess of commands without them, and what to write instead."""
_FOR_A_FILE: Final = re.compile(r"argument -o/--output: invalid choice: '([^']*\.([a-z]+))'")
_NO_COMMAND: Final = re.compile(r"argument COMMAND: invalid choice: '(.*)' \(choose from ([^()]*)\)$")


class PageParser(argparse.ArgumentParser):
    """A parser whose help lists options last, and whose errors are one line."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"formatter_class": argparse.RawDescriptionHelpFormatter, **more})
        self.wrong = 2
        """The exit code for wrong use."""
        self._positionals.title, self._optionals.title = "arguments", "options"

    def error(self, message: str) -> NoReturn:
        """Exit with a line that says what is wrong and how to get help."""
        self.exit(self.wrong, f"simkit: {_in_short(message)}; see {self.prog} --help\n")

    def describe(self, description: str, examples: str) -> None:
        """Give the page its purpose, with examples below it, and the exit codes at its end."""
        told, exits, codes = examples.partition(_END)
        self.description, self.epilog = f"{description}\n\n{told.rstrip()}", f"{exits}{codes}".strip()

    def format_help(self) -> str:
        """The page: usage, purpose, examples, arguments and options, exit codes."""
        names = [self._as_shown(action) for action in self._actions if not action.option_strings]
        self.usage = " ".join([self.prog, *names, "[OPTIONS]"])
        self._action_groups.sort(key=lambda group: group is self._optionals)
        return super().format_help()

    @staticmethod
    def _as_shown(action: argparse.Action) -> str:
        name = str(action.metavar or action.dest)
        return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ...", "A...": f"{name} ..."}.get(
            str(action.nargs), name
        )


def _in_short(message: str) -> str:
    """The message of argparse; of a command that is not there, without the list of all that are."""
    file = _FOR_A_FILE.match(message)
    if file is not None:
        form = file[2] if file[2] in ("json", "yaml", "jsonl", "html") else "csv"
        name = re.sub(r"xlsx?$", "csv", file[1])
        html = f", and a whole report with simkit audit --html {file[1]}" if form == "html" else ""
        return f"-o names a format, not a file; write the answer to a file with -o {form} > {name}{html}"
    wrong = _NO_COMMAND.match(message)
    if wrong is None:
        return message
    if wrong[1] in _GUESSED:
        return f"there is no command {wrong[1]!r}; {_GUESSED[wrong[1]]}"
    from difflib import get_close_matches  # for wrong names alone

    names = [word.strip(" '") for word in wrong[2].split(",")]
    near = [name for name in names if name.startswith(wrong[1])] or get_close_matches(wrong[1], names, cutoff=0.68)
    return f"there is no command {wrong[1]!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def unknown(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> str:
    """The error of unknown arguments of a command, with similar ones of its own."""
    from difflib import get_close_matches  # for wrong names alone

    options = [option for action in parser._actions for option in action.option_strings]
    wrong = [word for word in arguments if word.startswith("-")] or list(arguments)
    bare = [word.partition("=")[0] for word in wrong]
    guessed = [_GUESSED_OPTIONS[word] for word in bare if word in _GUESSED_OPTIONS]
    if parser.prog == "simkit watch" and not wrong[0].startswith("-"):
        guessed = ["it follows a running cluster, of the current context or --context NAME"]
    if guessed:
        return f"unrecognized arguments: {' '.join(wrong)}; {'; '.join(guessed)}"
    near = [found for word in bare for found in get_close_matches(word, options, n=1, cutoff=0.7)]
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
