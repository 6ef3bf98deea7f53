"""``simkit fleet``: audits, checks or compares many clusters in one call."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simkit.cli.flag_types import number
from simkit.cli.limits import limit
from simkit.cli.notes import complain
from simkit.cli.output import add_output, write_rows

if TYPE_CHECKING:
    from simkit.fleet import FleetAnswer

DESCRIPTION = "Asks many clusters the same question, on all cores or on a Dask scheduler."
EXAMPLES = """\
examples:
  simkit fleet audit dumps/*.json.gz -o csv > findings.csv
  simkit fleet check --suite expectations.yaml dumps/
  simkit fleet diff --golden prod-eu dumps/*.json.gz        # the access in which the others differ from prod-eu
  simkit fleet audit context:prod-eu context:prod-us        # running clusters
  simkit fleet audit dumps/*.db --scheduler tcp://10.0.0.5:8786 --parquet findings/

Each PATH is one cluster: a dump, an etcd backup, or context:NAME. A folder stands for the dumps in it.

Exit code: 0 if nothing was found, 1 if something was, 2 for wrong use or if a cluster could not be read.
"""
_WHAT: Final = {
    "audit": "list the findings of all clusters",
    "check": "check the same expectations on all clusters",
    "diff": "list the access in which clusters differ from a reference",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "question",
        choices=list(_WHAT),
        metavar="QUESTION",
        help="; ".join(f"{name}: {text}" for name, text in _WHAT.items()),
    )
    parser.add_argument("path", nargs="+", metavar="PATH", help="one cluster: a dump, an etcd backup, or context:NAME")
    parser.add_argument("--suite", type=Path, metavar="FILE", help="for check: the file of expectations")
    parser.add_argument("--golden", metavar="NAME", help="for diff: the cluster to compare the others with")
    parser.add_argument("--release", metavar="RELEASE", help="the Kubernetes release of the clusters")
    parser.add_argument(
        "--cloud",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="an export of EKS, GKE or AKS for one cluster (see simkit dump --cloud); may be repeated",
    )
    parser.add_argument(
        "--scheduler",
        default="processes",
        metavar="WHERE",
        help="processes (default), threads, synchronous, or the address of a Dask scheduler",
    )
    parser.add_argument(
        "--workers", type=number, metavar="N", help="the number of processes or threads (default: one for each core)"
    )
    parser.add_argument("--parquet", type=Path, metavar="DIR", help="write the table of each cluster to DIR")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Ask, write, and return the exit code."""
    answer = _asked(args)
    limit(answer.caveats)
    for failure in answer.failures:
        complain(f"{failure.cluster}: {failure.reason}")
    table = answer.to_frame()
    if args.parquet is None:
        rows = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
        write_rows(list(table.columns), rows, args.output)
    if answer.failures:
        return 2
    return 1 if any(_bad(args.question, each) for each in _tables(answer, args.parquet)) else 0


def _tables(answer: FleetAnswer, folder: Path | None) -> Iterable[Any]:
    """The table of the answer, or those that were written into files instead."""
    from simkit.fleet.fleet import written_tables

    return [answer.to_frame()] if folder is None else written_tables(folder, answer.clusters)


def _asked(args: argparse.Namespace) -> FleetAnswer:
    from simkit.fleet import Fleet
    from simkit.meta.errors import SimkitError
    from simkit.schema.releases import release_name

    if (args.suite is None) == (args.question == "check"):
        raise SimkitError("check needs --suite FILE, which the other questions do not have")
    if (args.golden is None) == (args.question == "diff"):
        raise SimkitError("diff needs --golden NAME, which the other questions do not have")
    if args.release:
        release_name(args.release)
    wrong = next((one for one in args.cloud if not all(one.partition("=")[::2])), None)
    if wrong is not None:
        raise SimkitError(f"--cloud {wrong} names no cluster; write --cloud NAME=PATH")
    fleet = Fleet(
        _places(args.path),
        release=args.release,
        scheduler=args.scheduler,
        workers=args.workers,
        cloud=dict(one.split("=", 1) for one in args.cloud),
    )
    if args.question == "check":
        return fleet.check(args.suite, to=args.parquet)
    if args.question == "diff":
        return fleet.diff(golden=args.golden, to=args.parquet)
    return fleet.audit(to=args.parquet)


def _places(paths: list[str]) -> list[str]:
    """The given places; a folder that holds dumps as files stands for each of them."""
    from simkit.snapshot.etcd.backup import is_backup

    found: list[str] = []
    for given in paths:
        folder = Path(given)
        files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
        found += map(str, files) if files and not is_backup(folder) else [given]
    return found


def _bad(question: str, table: Any) -> bool:
    """True if something was found that is no good news."""
    return not table["met"].all() if question == "check" else len(table) > 0
