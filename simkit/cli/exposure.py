"""``simkit exposure``: how many subjects hold risky permissions, by namespace."""

from __future__ import annotations

import argparse

from simkit.cli.output import add_output, write_rows
from simkit.cli.pictures import add_plot, write_plot
from simkit.cli.source import add_include_defaults, add_members, add_namespace, add_source, read, read_members

DESCRIPTION = "Counts the subjects that hold each risky permission in each namespace (*: the whole cluster)."
EXAMPLES = """\
examples:
  simkit exposure cluster.yaml
  simkit exposure cluster.yaml --plot access.png      # a heat map: the darker, the more subjects
  simkit exposure cluster.yaml -o csv > exposure.csv

Exit code: 0 when nobody holds a risky permission, 1 when somebody does, 2 for wrong use or unreadable input.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_include_defaults(parser)
    add_namespace(parser, "only this namespace, and the whole cluster (*)")
    add_plot(parser)
    add_members(parser)
    add_source(parser, paths=True)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    from simkit.analysis import exposure

    snapshot = read(args, namespace=args.namespace)
    found = exposure(snapshot, include_defaults=args.include_defaults, members=read_members(args))
    found = found[found.index.isin([args.namespace, "*"])] if args.namespace else found
    write_plot(found, args)
    held = [name for name in found.columns if found[name].any()]
    rows = [
        {"namespace": place, "permission": name, "subjects": int(number)}
        for place, row in found[held].iterrows()
        for name, number in row.items()
        if number
    ]
    write_rows(("namespace", "permission", "subjects"), rows, args.output, empty="nobody holds a risky permission")
    return 1 if rows else 0
