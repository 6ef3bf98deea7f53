"""The command line: ``simkit serve``, ``audit``, ``who-can``, ``can-i``. One file per command.

Exit codes: 0 for fine or yes, 1 for findings or no, 2 for wrong use and unreadable input.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Final, NamedTuple, TextIO, cast

from simkit.cli import completion, limits, terminal
from simkit.cli.loose_words import place_loose_words, settle_source
from simkit.cli.notes import complain, note
from simkit.cli.pages import PageParser, add_terminal_options, unknown
from simkit.cli.terminal import TerminalText, settle_streams
from simkit.meta.distribution import VERSION
from simkit.meta.errors import SimkitError, StatusError
from simkit.meta.python_gc import collection_rare
from simkit.present import progress

__all__ = ["COMMANDS", "Command", "fill_parser", "main"]

WRONG: Final = 2
INTERRUPTED: Final = 130
UNREAD: Final = 141
"""As of a program that a broken pipe ends: what was not read may have held findings."""
TRACEBACK: Final = "SIMKIT_TRACEBACK"
"""The environment variable that shows tracebacks."""


DESCRIPTION: Final = "A Kubernetes API server in memory, and analyses of Kubernetes access control and upgrades."
EXAMPLES: Final = """\
examples:
  simkit audit --demo                                # what is risky in the demo cluster
  simkit who-can get secrets cluster.yaml            # who can read secrets, and which binding grants it
  simkit escalations cluster.yaml --prove            # how to become cluster-admin, executed on a copy
  simkit serve cluster.yaml                          # the same cluster, for kubectl

simkit COMMAND --help describes a command, with examples.
"""


class Command(NamedTuple):
    """A command with its group and summary. Its module has ``DESCRIPTION``, ``EXAMPLES``, ``add_options(parser)`` and
    ``run(args)``."""

    name: str
    summary: str
    group: str


LOOK: Final = "look at a cluster"
ASK: Final = "ask who may do what"
PROVE: Final = "check what is possible, what breaks and what holds"
CHANGE: Final = "propose changes and show their effect"
SERVE: Final = "serve"
SHARE: Final = "dump and share"

LASTING: Final = frozenset({"mcp", "serve", "watch"})
"""Commands that run until somebody stops them, and say themselves what they do."""
COMMANDS: Final = (
    Command("audit", "check the RBAC of a Kubernetes cluster and list findings", LOOK),
    Command("causes", "list the root causes of findings and escalation paths", LOOK),
    Command("exposure", "count who holds risky permissions in each namespace", LOOK),
    Command("bindings", "list bindings with their roles and subjects", LOOK),
    Command("diff", "list permissions gained and lost between two dumps", LOOK),
    Command("history", "show who could do what in the past, since when, and who changed it", LOOK),
    Command("watch", "watch a running cluster and report what each write changes for access", LOOK),
    Command("releases", "list what Kubernetes releases serve, deprecate and remove", LOOK),
    Command("who-can", "list the subjects that have a permission", ASK),
    Command("can-i", "show whether a subject has a permission, and why", ASK),
    Command("permissions", "list what a subject may do", ASK),
    Command("escalations", "list privilege escalation paths and prove them", PROVE),
    Command("upgrade", "report what breaks on the way to a later release", PROVE),
    Command("rehearse", "rehearse a drain, the loss of a zone or a rollout", PROVE),
    Command("removal-report", "list what uses API versions that a release removes", PROVE),
    Command("crd-diff", "check whether a change of a custom resource definition is compatible", PROVE),
    Command("prove", "prove claims about all requests, or show a counterexample", PROVE),
    Command("check", "check access against a file of expectations", PROVE),
    Command("policy", "check API versions against the deprecation policy of Kubernetes", PROVE),
    Command("plan", "show what manifests do to a cluster before they are applied", CHANGE),
    Command("what-if", "show what a change of access grants, removes and breaks", CHANGE),
    Command("cut", "propose the cheapest changes that close all escalation paths", CHANGE),
    Command("least-privilege", "propose roles that allow what an audit log shows in use", CHANGE),
    Command("migrate", "rewrite manifests for a later release", CHANGE),
    Command("fleet", "audit, check or compare many clusters", LOOK),
    Command("serve", "run a Kubernetes API server in memory", SERVE),
    Command("mcp", "answer questions of programs over the Model Context Protocol", SERVE),
    Command("testing", "print the folder with executables that envtest starts", SERVE),
    Command("dump", "print the kubectl commands that dump a cluster, or write the dump", SHARE),
    Command("save", "write the objects of a dump into an etcd or a SQLite file", SHARE),
    Command("redact", "write a dump that can be shared", SHARE),
    Command("notebooks", "copy the notebooks that come with simkit", SHARE),
    Command("completion", "print the script that completes commands in a shell", SHARE),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; nothing but the named command is imported."""
    settle_streams()
    arguments = _as_flags(list(sys.argv[1:] if argv is None else argv))
    if completion.ASKED in os.environ:
        completion.complete(_parser(completion.words_of_line()))
    parser = _parser(arguments)
    arguments = _path_behind(arguments)
    try:
        args, unread = parser.parse_known_args(arguments)
        command = getattr(args, "parser", parser)
        unread = place_loose_words(command, args, unread)
        if unread:
            command.error(unknown(command, unread))
    except SystemExit as stop:  # argparse ends the process itself; callers of main want the code
        return stop.code if isinstance(stop.code, int) else WRONG
    if not hasattr(args, "run"):
        parser.print_help()
        return WRONG
    args.ends_process = argv is None
    heads = not getattr(args, "no_headers", False)
    terminal.settings = terminal.Settings(not args.no_color, not args.no_pager, heads, args.quiet)
    limits.forget()
    progress.silence(args.quiet)
    out, err = TerminalText(sys.stdout, pages=terminal.has_pager()), TerminalText(sys.stderr)
    with redirect_stdout(cast("TextIO", out)), redirect_stderr(cast("TextIO", err)):
        return _run(args, out)


def _as_flags(arguments: list[str]) -> list[str]:
    """The arguments, with ``help``, ``version`` and ``auth can-i``, which kubectl has, as simkit has them."""
    match arguments:
        case ["auth", "can-i" | "who-can", *_]:
            return arguments[1:]
        case ["help", *rest]:
            return [*rest, "--help"]
        case ["version"]:
            return ["--version"]
    return arguments


def _path_behind(arguments: list[str]) -> list[str]:
    """The arguments with the path of a dump, where it stands before the words of a question, behind them."""
    match arguments:
        case [("who-can" | "can-i" | "what-if") as command, path, word, *more]:
            if re.search(r"[./]", path) and os.path.exists(path) and not word.startswith("-"):
                return [command, word, *more, "--dump", path]
    return arguments


def _run(args: argparse.Namespace, out: TerminalText) -> int:
    try:
        settle_source(args)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UserWarning)  # they are notes here, whatever Python was told of warnings
            try:
                code = _answered(args)
            finally:
                out.finish()
        for message in dict.fromkeys(str(warning.message) for warning in told):
            note(message)
    except (SimkitError, StatusError) as wrong:
        complain("; ".join((str(wrong), *getattr(wrong, "__notes__", ()))))
        return int(args.wrong)
    except BrokenPipeError:
        _let_go_of_output()
        return UNREAD
    except OSError as wrong:
        complain(f"{wrong.filename}: {wrong.strerror}" if wrong.filename else str(wrong))
        _let_go_of_full_output()
        return int(args.wrong)
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except Exception as fault:
        _own_fault(fault)
        return int(args.wrong)
    return code


def _answered(args: argparse.Namespace) -> int:
    """The exit code of the command. Until it ends somebody who waits sees that it is at work, unless it is to last."""
    run: Callable[[argparse.Namespace], int] = args.run
    if args.lasting:
        return run(args)
    with collection_rare(last=args.ends_process), progress.task("working"):
        return run(args)


def _let_go_of_output() -> None:
    """Drop unwritten output, because the reader of the output has gone, as ``head`` does."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _let_go_of_full_output() -> None:
    """Drop unwritten output for which there is no room, which would fail once more at the end of the process."""
    try:
        sys.stdout.flush()
    except OSError:
        _let_go_of_output()


def _own_fault(fault: Exception) -> None:
    """Tell of an internal error."""
    if os.environ.get(TRACEBACK):
        raise fault
    complain(f"this is a fault of simkit: {type(fault).__name__}: {fault}")
    complain(f"set {TRACEBACK}=1 to see where, and please report it together with the command")


def _parser(arguments: Sequence[str]) -> PageParser:
    """The parser of all commands; commands that are not in the arguments have only name and summary."""
    parser = PageParser(prog="simkit")
    parser.describe(DESCRIPTION, f"{EXAMPLES}\n{_listing()}")
    parser.add_argument("--version", action="version", version=f"simkit {VERSION}", help="print the version of simkit")
    add_terminal_options(parser)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", help=argparse.SUPPRESS)
    named = next((word for word in arguments if not word.startswith("-")), "")
    for command in COMMANDS:
        made = subparsers.add_parser(command.name, allow_abbrev=command.name != "serve")  # as kube-apiserver
        if command.name == named:
            fill_parser(made, command)
    return parser


def _listing() -> str:
    """The commands by group, each with its summary."""
    groups: dict[str, str] = {}
    for each in COMMANDS:
        groups[each.group] = groups.get(each.group, f"{each.group}:\n") + f"  {each.name:15}  {each.summary}\n"
    return "\n".join(groups.values())


def fill_parser(parser: PageParser, command: Command) -> None:
    """Give the parser of a command its options and its help page."""
    module = importlib.import_module(f"simkit.cli.{command.name.replace('-', '_')}")
    parser.describe(module.DESCRIPTION, module.EXAMPLES)
    module.add_options(parser)
    parser.set_defaults(run=module.run, lasting=command.name in LASTING, parser=parser, wrong=parser.wrong)
    add_terminal_options(parser)
