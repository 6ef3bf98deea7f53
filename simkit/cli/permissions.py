"""``simkit permissions``: what a subject may do."""

from __future__ import annotations

import argparse

from simkit.cli.can_i import write_permissions
from simkit.cli.output import add_output
from simkit.cli.questions import add_groups
from simkit.cli.source import add_members, add_namespace, add_source, refuse

DESCRIPTION = "Lists the rules that apply to a subject and to its groups, with binding and role."
EXAMPLES = """\
examples:
  simkit permissions sa:ci/runner cluster.yaml
  simkit permissions sa:ci/runner -n payments cluster.yaml
  simkit permissions user:alice --group devs -f cluster.yaml -o json

The same as `simkit can-i --list --as WHO`.

Exit code: 0 when the subject has a permission, 1 when it has none, 2 for wrong use or unreadable input.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("user", metavar="WHO", help="user:alice, sa:ns/name or group:devs")
    refuse(parser, "--as", "--subject", instead="name the subject as a word, as in simkit permissions sa:ci/runner")
    add_groups(parser)
    add_source(parser, paths=True)
    add_namespace(parser, "only rules that hold in this namespace")
    add_members(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    return write_permissions(args, args.user)
