"""``simkit bindings``: the bindings of a cluster, with their roles and subjects."""

from __future__ import annotations

import argparse

from simkit.cli.output import add_output, write_rows
from simkit.cli.questions import note_unknown_subjects
from simkit.cli.source import add_namespace, add_source, read

DESCRIPTION = "Lists ClusterRoleBindings and RoleBindings, with a row for each subject."
EXAMPLES = """\
examples:
  simkit bindings cluster.yaml
  simkit bindings cluster.yaml --role cluster-admin         # who is bound to cluster-admin
  simkit bindings cluster.yaml --subject group:devs -n payments

Exit code: 0 when there is a binding, 1 when there is none, 2 for wrong use or unreadable input.
"""
SHOWN = ("subject", "binding_kind", "namespace", "binding", "role_kind", "role")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--role", action="append", metavar="NAME", help="only bindings to this role; may be repeated")
    parser.add_argument("--subject", action="append", metavar="WHO", help="only bindings that name this subject")
    add_namespace(parser, "only the RoleBindings of this namespace")
    add_source(parser, paths=True)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from simkit.analysis import bindings, parse_subject, text_of

    snapshot = read(args, namespace=args.namespace)
    note_unknown_subjects(snapshot, args)
    found = bindings(snapshot)
    if args.role:
        found = found[found["role"].isin(args.role)]
    if args.subject:
        found = found[found["subject"].isin([text_of(parse_subject(one)) for one in args.subject])]
    if args.namespace:
        found = found[found["namespace"] == args.namespace]
    write_rows(
        tuple(found.columns), found.to_dict("records"), args.output, shown=SHOWN, empty="there is no such binding"
    )
    return 0 if len(found) else 1
