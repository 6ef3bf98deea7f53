"""How a command gets the snapshot that it is asked about."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from simkit.meta import data
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.snapshot.dump import Dump
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
    parser.add_argument(
        "--manifests",
        action="store_true",
        help="the paths hold manifests, no dump: nothing else is there but the server's own roles and bindings",
    )
    parser.add_argument(
        "--into", default=DEFAULT_NAMESPACE, metavar="NS", help="where objects go that name no namespace (default)"
    )


def add_live(parser: argparse.ArgumentParser) -> None:
    """Give a command the options of asking a running cluster instead of reading a dump."""
    parser.add_argument("--context", metavar="NAME", help="ask a running cluster, through this context ('': current)")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="where the context is (as kubectl finds it)")


def add_members(parser: argparse.ArgumentParser) -> None:
    """Give a command the option ``--members``."""
    parser.add_argument(
        "--members",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="who is in which group: a table, certificates, tokens, an audit log or an identity provider's export",
    )


def read_members(paths: Sequence[Path]) -> Mapping[str, Sequence[str]]:
    """Who is in which group by the files of ``--members``."""
    from simkit.analysis.membership import members_of_files

    return members_of_files(paths) if paths else {}


def add_dump(parser: argparse.ArgumentParser) -> None:
    """Give a command the option ``--dump`` and what can be said instead of it."""
    parser.add_argument(
        "--dump",
        action="append",
        default=[],
        metavar="PATH",
        help="what 'kubectl get -A -o yaml' or the like wrote: a file, a folder or an archive; may be repeated",
    )
    add_live(parser)
    add_release(parser)


def read(paths: list[str], args: argparse.Namespace) -> Snapshot:
    """The snapshot of some paths or a running cluster. What could not be read is told on standard error."""
    return opened(paths, args).snapshot()


def opened(paths: list[str], args: argparse.Namespace) -> Dump:
    """The dump of some paths or a running cluster. What could not be read is told on standard error."""
    dump = _live(paths, args) if _is_live(args) else _from_paths(paths, args)
    for problem in dump.lost:
        print(f"simkit: {problem}", file=sys.stderr)
    return dump


def _is_live(args: argparse.Namespace) -> bool:
    return any(getattr(args, option, None) is not None for option in ("context", "kubeconfig"))


def _live(paths: list[str], args: argparse.Namespace) -> Dump:
    from simkit.snapshot.live import LiveCluster

    if paths:
        raise SimkitError("say either what was dumped or which running cluster to ask, not both")
    return load(LiveCluster(args.context or "", args.kubeconfig).pieces(), release=args.release, captured=args.complete)


def _from_paths(paths: list[str], args: argparse.Namespace) -> Dump:
    if not paths:
        raise SimkitError("say what to look at: --dump PATH, or --context NAME for a running cluster")
    if args.manifests:
        from simkit.cluster.loading import onto_defaults

        return load(onto_defaults(paths, args.release), release=args.release, captured=["*"], namespace=args.into)
    return load(paths, release=args.release, captured=args.complete, namespace=args.into)


def chosen_paths(args: argparse.Namespace) -> list[str]:
    """The paths that were given, or that of ``--demo``. Raises SimkitError for both, and for neither."""
    if args.demo == bool(args.path):
        raise SimkitError("say what to look at: one or more paths, or --demo")
    return [demo_path()] if args.demo else list(args.path)


def demo_path() -> str:
    """The path of the cluster that comes with simkit."""
    return str(data.path(DEMO))
