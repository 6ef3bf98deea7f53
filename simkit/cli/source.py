"""Options that choose the cluster of a command: a dump, manifests, a running cluster or the demo cluster."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from simkit.cli.flag_types import namespace, unpack_limits
from simkit.cli.notes import complain, complain_of, note
from simkit.meta import datasets, progress
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError, UnknownNamespace
from simkit.meta.names import GroupResource
from simkit.schema.releases import BASE
from simkit.snapshot.unpacking import DEFAULT_LIMITS

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster
    from simkit.snapshot.dump import Dump
    from simkit.snapshot.protocol import Snapshot
    from simkit.snapshot.sources import Source

_WHAT: Final = "a dump (simkit dump prints how to make one): files, folders, archives; - is standard input"
_NAMESPACES: Final = GroupResource("", "namespaces")


def add_source(parser: argparse.ArgumentParser, *, paths: bool = False, release_flag: str = "--release") -> None:
    """Add the options that choose the cluster to a command; with ``paths`` its positional arguments choose it too."""
    if paths:
        parser.add_argument("path", nargs="*", default=[], metavar="PATH", help=_WHAT)
    group = parser.add_argument_group("what to look at")
    if paths:
        told = "the same as PATH; may be repeated"
    else:
        told = f"{_WHAT}; may be repeated; as the last word, it needs no option"
    group.add_argument("-f", "--dump", action="append", default=[], metavar="PATH", help=told)
    group.add_argument("--file", "--filename", dest="dump", action="append", help=argparse.SUPPRESS)
    group.add_argument("--demo", action="store_true", help="use the demo cluster of simkit")
    group.add_argument("--context", metavar="NAME", help="ask a running cluster, through this context ('': current)")
    group.add_argument("--kubeconfig", type=Path, metavar="FILE", help="where the context is (as kubectl finds it)")
    add_reading(group, release_flag=release_flag)


def add_reading(group: Any, *, release_flag: str = "--release") -> None:
    """Add the options for reading objects to a parser or a group of its options."""
    told = "read the objects as this release's (default: that of the cluster where it shows, else 1.30)"
    group.add_argument(release_flag, dest="reading_release", metavar="RELEASE", help=told)
    group.add_argument(
        "--complete",
        action="extend",
        default=[],
        type=lambda text: [word.strip() for word in text.split(",") if word.strip()],
        metavar="RESOURCE",
        help="take RESOURCE for wholly captured although the dump has none of it ('*': everything; a,b: several)",
    )
    group.add_argument(
        "--manifests",
        action="store_true",
        help="the paths hold manifests, not a dump: only the default roles and bindings of kube-apiserver are added",
    )
    group.add_argument(
        "--into",
        type=namespace,
        default=DEFAULT_NAMESPACE,
        metavar="NS",
        help="where objects go that name no namespace (default)",
    )
    add_unpack(group)


def add_unpack(group: Any) -> None:
    """Add the option ``--unpack`` to a parser or a group of its options."""
    group.add_argument(
        "--unpack",
        type=unpack_limits,
        default=DEFAULT_LIMITS,
        metavar="LIMITS",
        help="what compressed files may become (bytes=4Gi,ratio=200,nesting=3)",
    )


def add_members(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--members`` to a command."""
    parser.add_argument(
        "--members",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="who is in which group: a table, certificates, tokens, an audit log or an identity provider's export",
    )


def add_audit_log(parser: argparse.ArgumentParser, what: str, *, required: bool = False) -> None:
    """Give a command the option ``--audit-log``; ``what``: what the command takes from it."""
    told = f"{what}: files or folders of audit events (also .gz), - is standard input; may be repeated"
    parser.add_argument("--audit-log", action="append", required=required, metavar="PATH", help=told)


def read_audit_log(args: argparse.Namespace) -> list[str | bytes] | None:
    """The sources of ``--audit-log``, with standard input read; None if it is not given."""
    if args.audit_log is None:
        return None
    return [standard_input().read() if path == "-" else path for path in args.audit_log]


def read_members(args: argparse.Namespace) -> Mapping[str, Sequence[str]]:
    """The members of groups according to the files of ``--members``."""
    from simkit.analysis.membership import members_of_files

    return members_of_files(args.members) if args.members else {}


def add_namespace(
    parser: argparse.ArgumentParser, what: str, *, everywhere: str = "in all namespaces (default)"
) -> None:
    """Add the options ``--namespace`` and ``--all-namespaces``, which exclude each other, to a command."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("-n", "--namespace", type=namespace, metavar="NS", help=what)
    where.add_argument("-A", "--all-namespaces", action="store_true", help=everywhere)


def refuse_namespace(parser: argparse.ArgumentParser, instead: str) -> None:
    """Let a command which is about the whole cluster say what to write in place of ``--namespace``."""
    parser.add_argument("-n", "--namespace", action=_Refused, instead=instead, help=argparse.SUPPRESS)
    parser.add_argument("-A", "--all-namespaces", action="store_true", help=argparse.SUPPRESS)


class _Refused(argparse.Action):
    """An option that a command does not have, with what to write instead."""

    def __init__(self, *args: Any, instead: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self._instead = instead

    def __call__(
        self, parser: argparse.ArgumentParser, given: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Exit with the advice."""
        parser.error(f"{option} {values} has no meaning here: {self._instead}")


def opened(args: argparse.Namespace) -> Dump:
    """The chosen cluster as a dump; what could not be read is reported on standard error.

    Raises
    ------
    SimkitError
        Where nothing was chosen, or several things that exclude each other.
    """
    paths = paths_of(args)
    live = any(given is not None for given in (args.context, args.kubeconfig))
    if sum(map(bool, (paths, args.demo, live))) != 1:
        ways = "the path of a dump (-f PATH), --context NAME for a running cluster, or --demo"
        raise SimkitError(f"say what to look at, in one way: {ways}")
    if live:
        return _told(_live(args))
    return dump_of([str(demo_path())] if args.demo else paths, args)


def paths_of(args: argparse.Namespace) -> list[str]:
    """The given paths."""
    return [*getattr(args, "path", ()), *args.dump]


def read(args: argparse.Namespace, *, namespace: str | None = None) -> Snapshot:
    """The chosen cluster as a snapshot; a warning is written if it does not have ``namespace``."""
    dump = opened(args)
    if not args.manifests:
        warn_of_unknown_namespace(dump, namespace)
    return dump.snapshot()


def dump_of(paths: Sequence[str], args: argparse.Namespace) -> Dump:
    """The dump or the manifests of some paths; what could not be read is reported on standard error."""
    from simkit.snapshot.load import load  # servers start without it

    release = args.reading_release
    source: list[Source] = [standard_input() if path == "-" else path for path in paths]
    captured = args.complete
    placed: Source = source
    if args.manifests:
        from simkit.cluster.loading import onto_defaults

        release = release or BASE
        placed, captured = onto_defaults(source, release), ["*"]
    secrets, positions = getattr(args, "secrets", False), getattr(args, "output", "") == "sarif"
    return _told(
        load(
            placed,
            release=release,
            captured=captured,
            secrets=secrets,
            namespace=args.into,
            limits=args.unpack,
            positions=positions,
        )
    )


def _live(args: argparse.Namespace) -> Dump:
    from simkit.cluster.loading import release_of
    from simkit.snapshot.live import LiveCluster
    from simkit.snapshot.load import load

    live = LiveCluster(args.context or "", args.kubeconfig)
    return load(live.pieces(), release=args.reading_release or release_of(live), captured=args.complete)


def _told(dump: Dump) -> Dump:
    complain_of(dump.lost if dump.objects else dump.problems)
    if not dump.objects and dump.problems:
        raise SimkitError("no object could be read")
    return dump


def standard_input() -> BinaryIO:
    """The standard input of the command."""
    if sys.stdin.isatty():
        progress.silence()
        complain("reading from the terminal; end the input with Ctrl-D")
    return sys.stdin.buffer


def warn_of_unknown_namespace(dump: Dump, where: str | None) -> None:
    """Write a warning if the namespace of a question does not exist; the answer may not be the intended one."""
    if not where:
        return
    warnings.simplefilter("ignore", UnknownNamespace)  # it is told here
    listed = {key.name for key in dump.keyed if key.resource == _NAMESPACES}
    if where in listed or any(key.namespace == where for key in dump.keyed):
        return
    from difflib import get_close_matches  # for wrong names alone

    near = get_close_matches(where, listed | {key.namespace for key in dump.keyed}, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    if _NAMESPACES in dump.captured and listed:
        note(f"there is no namespace {where!r}{hint}")
    else:
        note(f"nothing that was read is in namespace {where!r}, and namespaces were not dumped{hint}")


def cluster_of(dump: Dump) -> Cluster:
    """A cluster with the objects of a dump, for commands that execute something."""
    from simkit.cluster.cluster import Cluster

    return Cluster.of(dump)


def demo_path() -> Path:
    """The path of the bundled cluster."""
    return datasets.path(datasets.DEMO)
