"""What commands need that execute things: a cluster with the dump's objects, and who is in which group."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from simkit.meta.errors import SimkitError

if TYPE_CHECKING:
    from simkit.snapshot.protocol import Sandbox


def sandbox_of(paths: list[str], args: argparse.Namespace) -> Sandbox:
    """A cluster that holds the objects of the paths."""
    from simkit.cluster.loading import load

    source = paths[0] if len(paths) == 1 else paths
    return load(source, release=args.release, captured=args.complete)


def members_of(path: str | None) -> dict[str, list[str]]:
    """The table of a file: groups with their members. Empty without a file. SimkitError for any other content."""
    if path is None:
        return {}
    table = yaml.load(Path(path).read_text(encoding="utf-8"), yaml.CSafeLoader)
    if not isinstance(table, dict) or not all(isinstance(names, list) for names in table.values()):
        raise SimkitError(f"{path} is no table of groups; write 'group: [alice, sa:ns/name]', one group a line")
    return {str(group): [str(name) for name in names] for group, names in table.items()}
