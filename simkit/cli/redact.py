"""``simkit redact``: writes a dump that can be shared."""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path
from typing import Any

from simkit.cli.notes import note
from simkit.cli.source import add_source, opened

DESCRIPTION = "Writes a dump without the values of secrets and, with --pseudonyms, without real names."
EXAMPLES = """\
examples:
  simkit redact cluster.yaml --to shared.json.gz
  simkit redact dumps/ --to shared.yaml --pseudonyms
  simkit redact before.yaml --to before-shared.yaml --pseudonyms --key-file key

Secret values are always removed. With --pseudonyms, names are replaced too, each by the same pseudonym everywhere, so
that every question about access has the same answer. Kinds, rules, API groups and the names of defaults stay.

Exit code: 0 when all was read, 2 when something could not be read, or for wrong use.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--to", required=True, type=Path, metavar="FILE", help="the new dump: .json or .yaml, optionally with .gz"
    )
    parser.add_argument("--pseudonyms", action="store_true", help="replace names, the same name always in the same way")
    parser.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="a file with a secret of at most 64 bytes; the same secret gives the same pseudonyms in other dumps",
    )
    parser.add_argument("--keep-configmaps", action="store_true", help="keep the values of config maps")
    add_source(parser, paths=True, access=False)


def run(args: argparse.Namespace) -> int:
    """Read, redact, write, and return the exit code."""
    from simkit.snapshot.memory import MemorySnapshot
    from simkit.snapshot.redact import redacted
    from simkit.snapshot.save import save

    dump = opened(args)
    shown = redacted(dump.objects, pseudonyms=_pseudonyms(args), keep_config=args.keep_configmaps)
    save(MemorySnapshot(shown, captured=dump.captured, index=dump.index), args.to)
    note(f"wrote {len(dump):,} objects to {args.to}")
    return 2 if dump.lost else 0


def _pseudonyms(args: argparse.Namespace) -> Any:
    from simkit.meta.errors import SimkitError
    from simkit.snapshot.pseudonyms import Pseudonyms

    if not args.pseudonyms:
        if args.key_file is not None:
            raise SimkitError("--key-file needs --pseudonyms")
        return None
    key = secrets.token_bytes(32) if args.key_file is None else args.key_file.read_bytes().strip()
    if not 0 < len(key) <= 64:
        raise SimkitError(f"{args.key_file} must hold between 1 and 64 bytes, not {len(key)}")
    return Pseudonyms(key)
