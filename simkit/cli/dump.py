"""How a command gets the snapshot that it is asked about."""

from __future__ import annotations

import argparse
import sys

from simkit.meta import data
from simkit.snapshot.load import load
from simkit.snapshot.protocol import Snapshot

DEMO = "clusters/pellowick.json.gz"


def add_release(parser: argparse.ArgumentParser) -> None:
    """Give a command the options of reading a dump."""
    parser.add_argument("--release", default="1.30", metavar="R", help="read the objects as this release's (1.30)")
    parser.add_argument(
        "--complete",
        action="append",
        default=[],
        metavar="RESOURCE",
        help="take RESOURCE for wholly captured although the dump has none of it ('*': everything); may be repeated",
    )


def add_dump(parser: argparse.ArgumentParser) -> None:
    """Give a command the option ``--dump``."""
    parser.add_argument(
        "--dump",
        action="append",
        required=True,
        metavar="PATH",
        help="what 'kubectl get -A -o yaml' or the like wrote: a file, a folder or an archive; may be repeated",
    )
    add_release(parser)


def read(paths: list[str], args: argparse.Namespace) -> Snapshot:
    """The snapshot of some paths. What could not be read is told on standard error."""
    dump = load(paths[0] if len(paths) == 1 else paths, release=args.release, captured=args.complete)
    for problem in dump.lost:
        print(f"simkit: {problem}", file=sys.stderr)
    return dump.snapshot()


def demo_path() -> str:
    """The path of the cluster that comes with simkit."""
    return str(data.path(DEMO))
