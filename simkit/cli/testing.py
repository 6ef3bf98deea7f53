"""``simkit testing``: what tests of other languages need."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

DESCRIPTION: Final = "Writes stand-ins for kube-apiserver and etcd that envtest can start, and prints their folder."
EXAMPLES: Final = """\
examples:
  export KUBEBUILDER_ASSETS=$(simkit testing assets)     # then: go test ./...
  simkit testing assets --release 1.34 --to bin/

Python tests need no command: see docs/testing.md for the pytest plugin.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("what", choices=("assets",), metavar="assets", help="the executables")
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="the folder to write them to (default: one for each user)"
    )
    parser.add_argument(
        "--release", default="", metavar="X.Y", help="the Kubernetes release to serve (default: as for simkit serve)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the executables, and print their folder."""
    from simkit.cli.testing_assets import write_assets

    default = Path.home() / ".cache" / "simkit" / f"assets{args.release and '-'}{args.release}"
    print(write_assets(args.to or default, args.release).resolve())
    return 0
