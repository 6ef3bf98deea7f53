"""Flags of ``simkit serve`` for the store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from simkit.cli.flag_types import words
from simkit.cluster.stores import STORES
from simkit.meta.errors import SimkitError

_FILES = {
    "etcd-cafile": "the authority that signed etcd's certificates",
    "etcd-certfile": "the client certificate for etcd",
    "etcd-keyfile": "its key",
    "encryption-provider-config": "the EncryptionConfiguration by which values in etcd are written and read",
}


def add_arguments(group: Any) -> None:
    """Add the flags."""
    group.add_argument(
        "--storage",
        metavar="WHERE",
        help="; ".join(f"{each.form} ({each.help})" for each in STORES.values()),
    )
    group.add_argument(
        "--etcd-servers", type=words, default=(), metavar="URL,URL", help="the same as --storage etcd:URL,URL"
    )
    add_connection(group)


def add_connection(group: Any) -> None:
    """Add the flags for the connection to an etcd."""
    group.add_argument(
        "--etcd-prefix", default="/registry", metavar="PREFIX", help="the prefix of all keys (default /registry)"
    )
    for name, text in _FILES.items():
        group.add_argument(f"--{name}", type=Path, metavar="FILE", help=text)


def options(args: argparse.Namespace) -> dict[str, Any]:
    """The values of the flags, by the name of the option. Raises SimkitError for two stores at once."""
    if args.storage and args.etcd_servers:
        raise SimkitError("--storage and --etcd-servers both name a store; use only one")
    servers = f"etcd:{','.join(args.etcd_servers)}" if args.etcd_servers else ""
    return {
        "storage": args.storage or servers or "memory",
        **connection(args),
    }


def connection(args: argparse.Namespace) -> dict[str, Any]:
    """The values of the flags for the connection to an etcd, by the name of the option."""
    named = {name.replace("-", "_") for name in ("etcd-prefix", *_FILES)}
    return {name: getattr(args, name) for name in sorted(named)}
