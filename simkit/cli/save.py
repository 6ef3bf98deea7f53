"""``simkit save``: writes the objects of a dump into an etcd, from which kube-apiserver or simkit can serve them."""

from __future__ import annotations

import argparse

from simkit.cli.notes import note
from simkit.cli.server_flags import ETCD
from simkit.cli.source import add_source, opened
from simkit.cluster.options import is_lasting, lasting_forms, new_store
from simkit.meta.errors import SimkitError

DESCRIPTION = (
    "Writes the objects of a dump as they are into an etcd, in kube-apiserver's own layout and form, "
    "or into a SQLite file."
)
EXAMPLES = """\
examples:
  simkit save cluster.yaml --to etcd:http://127.0.0.1:2379     # an etcd that holds no objects yet
  simkit save snapshot.db --secrets --to etcd:https://etcd:2379 --etcd-cafile ca.crt
  simkit save cluster.yaml --to sqlite:cluster.db              # for simkit serve --storage sqlite:cluster.db

Secrets are written with empty values, unless --secrets is given.

Exit code: 0 when all was written, 2 for wrong use.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_source(parser, paths=True, access=False)
    parser.add_argument("--secrets", action="store_true", help="include the values of secrets")
    parser.add_argument("--to", required=True, metavar="WHERE", help=lasting_forms())
    for each in ETCD:
        each.add(parser)


def run(args: argparse.Namespace) -> int:
    """Write the objects, and return the exit code."""
    from simkit.cluster.control_plane import stored_objects
    from simkit.cluster.options import Options

    if not is_lasting(args.to):
        raise SimkitError(f"--to {args.to!r} names no store that lasts; write {lasting_forms()}")
    dump = opened(args)
    connection = {each.option: getattr(args, each.option) for each in ETCD}
    options = Options(release=dump.release, storage=args.to, **connection)
    store = new_store(options)
    try:
        store.seed(stored_objects(options.release, dump))
    finally:
        store.close()
    note(f"wrote {len(dump.objects):,} objects to {args.to}")
    return 0
