"""``simkit notebooks``: copies the notebooks that come with simkit."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from simkit.meta.errors import SimkitError

DESCRIPTION = "Copies the notebooks that come with simkit into a new folder, for Jupyter."
EXAMPLES = """\
examples:
  simkit notebooks --to simkit-notebooks
  jupyter lab simkit-notebooks                   # needs: pip install "kube-simkit[all]"

Exit code: 0 when they were copied, 2 for wrong use.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER", help="a folder that does not exist yet")


def run(args: argparse.Namespace) -> int:
    """Copy the notebooks, and return the exit code."""
    from simkit.cluster.report.library import notebook

    source = notebook("01-rbac-audit.ipynb").parent
    if args.to.exists():
        raise SimkitError(f"{args.to} already exists; name a new folder")
    shutil.copytree(source, args.to, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    print(f"{len(list(args.to.rglob('*.ipynb')))} notebooks are in {args.to}; next: jupyter lab {args.to}")
    return 0
