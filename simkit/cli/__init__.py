"""The command line: ``simkit serve``, ``audit``, ``who-can``, ``can-i``. One file per command.

Exit codes: 0 for fine or yes, 1 for findings or no, 2 for wrong use and unreadable input.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Final, NamedTuple, TextIO, cast

from simkit import __version__
from simkit.cli.notes import complain, note
from simkit.cli.output import TerminalText
from simkit.meta.errors import SimkitError, StatusError

FINE: Final = 0
FOUND: Final = 1
WRONG: Final = 2
INTERRUPTED: Final = 130
TRACEBACK: Final = "SIMKIT_TRACEBACK"
"""The environment variable that shows tracebacks."""


class Command(NamedTuple):
    """A command, and the module whose ``add_parser(subparsers)`` and ``run(args)`` make it."""

    name: str
    summary: str


COMMANDS: Final = (
    Command("serve", "run a Kubernetes API server in memory"),
    Command("audit", "check the RBAC of a Kubernetes cluster and list findings"),
    Command("who-can", "list the subjects that have a permission"),
    Command("can-i", "tell whether a subject has a permission, and why"),
    Command("check", "check access against a file of expectations"),
    Command("diff", "list permissions gained and lost between two dumps"),
    Command("dump", "print the kubectl commands that dump a cluster, or write the dump"),
    Command("redact", "write a dump that can be shared"),
    Command("releases", "list what Kubernetes releases serve, deprecate and remove"),
    Command("policy", "check API versions against the deprecation policy of Kubernetes"),
    Command("removal-report", "list what uses API versions that a release removes"),
    Command("escalations", "list privilege escalation paths and prove them"),
    Command("cut", "propose the cheapest changes that close all escalation paths"),
    Command("least-privilege", "propose roles that allow what an audit log shows in use"),
    Command("notebooks", "copy the notebooks that come with simkit"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; nothing but the named command is imported."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(arguments)
    try:
        args = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse ends the process itself; callers of main want the code
        return stop.code if isinstance(stop.code, int) else WRONG
    if not hasattr(args, "run"):
        parser.print_help()
        return WRONG
    with redirect_stdout(_terminal(sys.stdout)), redirect_stderr(_terminal(sys.stderr)):
        return _run(args)


def _terminal(stream: TextIO) -> TextIO:
    return cast("TextIO", TerminalText(stream))


def _run(args: argparse.Namespace) -> int:
    try:
        with warnings.catch_warnings(record=True) as told:
            code: int = args.run(args)
        sys.stdout.flush()
        for warning in told:
            note(str(warning.message))
    except (SimkitError, StatusError) as wrong:
        complain(str(wrong))
        return WRONG
    except BrokenPipeError:
        _let_go_of_output()
        return FINE
    except OSError as wrong:
        complain(str(wrong))
        return WRONG
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except Exception as fault:
        return _own_fault(fault)
    return code


def _let_go_of_output() -> None:
    """The reader of the output went away, as ``head`` does: what is still to be flushed goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _own_fault(fault: Exception) -> int:
    """The exit code after an error that is no answer to wrong use; it must not read as one of findings."""
    if os.environ.get(TRACEBACK):
        raise fault
    complain(f"this is a fault of simkit: {type(fault).__name__}: {fault}")
    complain(f"set {TRACEBACK}=1 to see where, and please report it together with the command")
    return WRONG


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of all commands; of those not named in the arguments only name and summary are known."""
    parser = argparse.ArgumentParser(
        prog="simkit",
        description="A Kubernetes API server in memory, and analyses of Kubernetes access control and upgrades.",
    )
    parser.add_argument(
        "--version", action="version", version=f"simkit {__version__}", help="print the version of simkit"
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    named = next((word for word in arguments if not word.startswith("-")), "")
    for command in COMMANDS:
        if command.name == named:
            module = importlib.import_module(f"simkit.cli.{command.name.replace('-', '_')}")
            made: argparse.ArgumentParser | None = module.add_parser(subparsers)
            if made is not None:
                made.set_defaults(run=module.run)
        else:
            subparsers.add_parser(command.name, help=command.summary)
    return parser
