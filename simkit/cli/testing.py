"""``simkit testing``: what tests of other languages need."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Final

EXAMPLES: Final = """\
examples:
  export KUBEBUILDER_ASSETS=$(simkit testing assets)     # then: go test ./...
  simkit testing assets --to bin/

Python tests need no command: see docs/testing.md for the pytest plugin.
"""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The parser of the command, added to the others."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "testing",
        help="print the folder with executables that envtest starts",
        description="Writes executables kube-apiserver and etcd that envtest can start, and prints their folder.",
        epilog=EXAMPLES,
    )
    parser.add_argument("what", choices=("assets",), metavar="assets", help="the executables")
    parser.add_argument("--to", type=Path, metavar="DIR", help="where they are written (default: per user)")
    return parser


def run(args: argparse.Namespace) -> int:
    """Write the executables, and print their folder."""
    from simkit.cli.testing_assets import write_assets

    print(write_assets(args.to or Path.home() / ".cache" / "simkit" / "assets").resolve())
    return 0
