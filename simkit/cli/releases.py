"""``simkit releases``: the resources of Kubernetes releases, and when API versions are introduced, deprecated and
removed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from simkit.cli.output import add_output, write_rows
from simkit.cli.source import refuse

DESCRIPTION = "Shows what Kubernetes releases serve by default, and what changes between them."
EXAMPLES = """\
examples:
  simkit releases                          all releases with their dates
  simkit releases 1.25                     what 1.25 serves
  simkit releases 1.25 1.32                what versions go and come between them
  simkit releases --calendar -g apps       when versions were introduced, deprecated and removed
  simkit releases --limits 1.21            how simkit at 1.21 differs from kube-apiserver 1.21

Exit code: 0, or 2 for wrong use.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("release", nargs="?", default="", metavar="RELEASE", help="a release such as 1.25")
    parser.add_argument("other", nargs="?", default="", metavar="OTHER", help="another release to compare with")
    refuse(parser, "--from", "--to", instead="name one or two releases as words: simkit releases 1.25 1.32")
    parser.add_argument("-g", "--api-group", action="append", default=[], help="only this API group; may be repeated")
    parser.add_argument("--all", action="store_true", help="include what is off by default")
    parser.add_argument("--calendar", action="store_true", help="introductions, deprecations and removals by date")
    parser.add_argument(
        "--limits", action="store_true", help="list how simkit differs from kube-apiserver of this release"
    )
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Answer, and return the exit code."""
    columns, rows = _answer(args)
    write_rows(columns, rows, args.output)
    return 0


def _answer(args: argparse.Namespace) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    if args.limits:
        from simkit.cluster.releases import limits

        return ("area", "text"), [each._asdict() for each in limits(args.release or "1.30")]
    if args.calendar:
        return ("release", "date", "event", "version", "kind", "replacement"), list(_calendar(args))
    if args.other:
        return ("change", "version", "resource", "kind", "replacement"), list(_changes(args))
    if args.release:
        return ("version", "resource", "kind", "namespaced", "default", "deprecated", "end"), list(_served(args))
    return ("release", "released", "end_of_life", "resources", "deprecated"), list(_all())


def _all() -> Iterator[dict[str, Any]]:
    from simkit.schema import lifecycle
    from simkit.schema.releases import RELEASES, release

    for name in RELEASES:
        served = [each for each in lifecycle.resources(name) if each.enabled_by_default]
        lives = (lifecycle.lifecycle_of(each.api_version, each.kind) for each in served)
        yield {
            "release": name,
            "released": f"{release(name).released}",
            "end_of_life": f"{release(name).end_of_life}",
            "resources": len(served),
            "deprecated": sum(1 for life in lives if life is not None and life.warning(name)),
        }


def _served(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    from simkit.schema.catalogue import Catalogue
    from simkit.schema.lifecycle import default, lifecycle_of

    for each in Catalogue.for_release(args.release, everything=args.all).resources():
        if args.api_group and each.group not in args.api_group:
            continue
        found = lifecycle_of(each.api_version, each.kind)
        yield {
            "version": each.api_version,
            "resource": each.resource,
            "kind": each.kind,
            "namespaced": each.namespaced,
            "default": default(each.api_version, each.resource) or "on",
            "deprecated": found.deprecated if found else "",
            "end": found.end if found else "",
        }


def _changes(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    from simkit.analysis.upgrade.removed_resources import removed_between
    from simkit.schema.catalogue import Catalogue

    old = Catalogue.for_release(args.release, everything=args.all)
    new = Catalogue.for_release(args.other, everything=args.all)
    for change, table in (("goes", removed_between(old, new)), ("comes", removed_between(new, old))):
        for each in table.resources:
            if not args.api_group or each.group in args.api_group:
                yield {
                    "change": change,
                    "version": each.api_version,
                    "resource": each.resource,
                    "kind": each.kind,
                    "replacement": each.replacement if change == "goes" else "",
                }


def _calendar(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    from simkit.analysis.upgrade.timeline import calendar

    found = calendar(args.api_group or None, first=args.release, last=args.other)
    for row in found.itertuples():
        yield {
            "release": row.release,
            "date": f"{row.date:%Y-%m-%d}" + (" (expected)" if row.expected else ""),
            "event": row.event,
            "version": row.api_version,
            "kind": row.kind,
            "replacement": row.replacement,
        }
