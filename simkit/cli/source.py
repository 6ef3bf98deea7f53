"""Options that choose the cluster of a command: a dump, manifests, a running cluster or the demo cluster."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from simkit.cli.flag_types import namespace, unpack_limits
from simkit.cli.limits import limit
from simkit.cli.notes import complain, complain_of, note
from simkit.meta import datasets
from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError, UnknownNamespace
from simkit.meta.names import GroupResource
from simkit.present import progress
from simkit.seams.caveats import not_read
from simkit.snapshot.unpacking import DEFAULT_LIMITS

if TYPE_CHECKING:
    from simkit.cluster.cluster import Cluster
    from simkit.seams.snapshot import Snapshot
    from simkit.snapshot.dump import Dump

_WHAT: Final = "a dump, as simkit dump makes it: files, folders or archives; - reads standard input"
_NAMESPACES: Final = GroupResource("", "namespaces")


def add_source(
    parser: argparse.ArgumentParser,
    *,
    paths: bool = False,
    short: bool = True,
    release_flag: str = "--release",
    access: bool = True,
) -> None:
    """Add the options that choose the cluster to a command; with ``paths`` its positional arguments choose it too.

    ``access`` says that the command answers about access, so that its answer tells what decides outside of the dump.
    Without ``short``, the flag -f is left to the command.
    """
    parser.set_defaults(about_access=access)
    if paths:
        parser.add_argument("path", nargs="*", default=[], metavar="PATH", help=_WHAT)
    group = parser.add_argument_group("which cluster to read")
    if paths:
        told = "the same as PATH; may be repeated"
    else:
        told = f"{_WHAT}; may be repeated; the last argument may be a PATH without -f"
    group.add_argument(*(("-f",) if short else ()), "--dump", action="append", default=[], metavar="PATH", help=told)
    if short:
        group.add_argument("--file", "--filename", dest="dump", action="append", help=argparse.SUPPRESS)
    group.add_argument("--demo", action="store_true", help="use the demo cluster that comes with simkit")
    group.add_argument(
        "--context", metavar="NAME", help="read a running cluster, by kubeconfig context ('': the current one)"
    )
    group.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="the kubeconfig with the context (default: as for kubectl)"
    )
    add_reading(group, release_flag=release_flag)


def add_reading(group: Any, *, release_flag: str = "--release") -> None:
    """Add the options for reading objects to a parser or a group of its options."""
    told = "the Kubernetes release of the cluster (default: as the dump says, or 1.30)"
    group.add_argument(release_flag, dest="reading_release", metavar="RELEASE", help=told)
    group.add_argument(
        "--complete",
        action="extend",
        default=[],
        type=lambda text: [word.strip() for word in text.split(",") if word.strip()],
        metavar="RESOURCE",
        help="treat RESOURCE as complete even if the dump contains none ('*': everything; a,b: several)",
    )
    group.add_argument(
        "--manifests",
        action="store_true",
        help="read the paths as manifests for a new cluster, which has only the default roles and bindings",
    )
    group.add_argument(
        "--authorization-mode",
        type=lambda text: text.split(","),
        default=[],
        metavar="A,B",
        help="the authorizers of kube-apiserver (default: those of its static pod in the dump)",
    )
    add_cloud(group)
    group.add_argument(
        "--into",
        type=namespace,
        default=DEFAULT_NAMESPACE,
        metavar="NS",
        help="the namespace for objects that name none (default: default)",
    )
    add_unpack(group)
    group.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        help="read the files again, and do not keep what was read in the cache folder",
    )


def add_cloud(group: Any) -> None:
    """Add the option ``--cloud`` to a parser or a group of its options."""
    group.add_argument(
        "--cloud",
        action="append",
        default=[],
        metavar="PATH",
        help="an export of EKS, GKE or AKS (see simkit dump --cloud); may be repeated",
    )


def add_unpack(group: Any) -> None:
    """Add the option ``--unpack`` to a parser or a group of its options."""
    group.add_argument(
        "--unpack",
        type=unpack_limits,
        default=DEFAULT_LIMITS,
        metavar="LIMITS",
        help="limits for compressed files (default: bytes=4Gi,ratio=200,nesting=3)",
    )


def add_members(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--members`` to a command."""
    parser.add_argument(
        "--members",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="the members of groups, as YAML or JSON: a list of subjects for each group",
    )


def add_include_defaults(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--include-defaults`` to a command."""
    told = "include unmodified default roles and bindings of kube-apiserver, and what they grant"
    parser.add_argument("--include-defaults", action="store_true", help=told)


def add_managed(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--managed`` to a command."""
    told = "skip roles and bindings of a managed cluster's provider: eks, gke, aks, openshift or auto"
    parser.add_argument("--managed", action="append", default=[], metavar="WHO", help=told)


def add_audit_log(parser: argparse.ArgumentParser, what: str, *, required: bool = False) -> None:
    """Give a command the option ``--audit-log``; ``what``: what the command takes from it."""
    told = f"{what}: files or folders of audit events (also .gz, .zst); - reads standard input; may be repeated"
    parser.add_argument("--audit-log", action="append", required=required, metavar="PATH", help=told)


def read_audit_log(args: argparse.Namespace) -> list[str | bytes] | None:
    """The sources of ``--audit-log``, with standard input read; None if it is not given."""
    if args.audit_log is None:
        return None
    return [standard_input().read() if path == "-" else path for path in args.audit_log]


def read_members(args: argparse.Namespace) -> Mapping[str, Sequence[str]]:
    """The members of groups according to the files of ``--members``."""
    from simkit.analysis.rbac.subject import members_of_files

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
    refuse(parser, "-n", "--namespace", instead=instead)
    parser.add_argument("-A", "--all-namespaces", action="store_true", help=argparse.SUPPRESS)


def refuse(parser: argparse.ArgumentParser, *options: str, instead: str) -> None:
    """Let a command say what to write in place of an option that it does not have."""
    parser.add_argument(*options, action=_Refused, instead=instead, help=argparse.SUPPRESS)


class _Refused(argparse.Action):
    """An option that a command does not have, with what to write instead."""

    def __init__(self, *args: Any, instead: str, **more: Any) -> None:
        super().__init__(*args, **more)
        self._instead = instead

    def __call__(
        self, parser: argparse.ArgumentParser, given: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Exit with the advice."""
        parser.error(f"{option} {values} does not apply to this command: {self._instead}")


def opened(args: argparse.Namespace, *, release_of: Callable[[Dump], str] | None = None) -> Dump:
    """The chosen cluster as a dump; what could not be read is reported on standard error.

    ``release_of`` names the release of a dump, which is then read as that release's.

    Raises
    ------
    SimkitError
        Where nothing was chosen, or several things that exclude each other.
    """
    paths = paths_of(args)
    live = any(given is not None for given in (args.context, args.kubeconfig))
    if sum(map(bool, (paths, args.demo, live))) != 1:
        ways = "the path of a dump (-f PATH), --context NAME for a running cluster, or --demo"
        more = f"; {paths[0]!r} is read as a path, and a goal, role or subject needs its option" if paths else ""
        raise SimkitError(f"name one cluster to read: {ways}{more}")
    if live:
        return _limited(_told(_with_cloud(_live(args), args)), args)
    return dump_of([str(demo_path())] if args.demo else paths, args, release_of=release_of)


def paths_of(args: argparse.Namespace) -> list[str]:
    """The given paths."""
    return [*getattr(args, "path", ()), *args.dump]


def read(args: argparse.Namespace, *, namespace: str | None = None) -> Snapshot:
    """The chosen cluster as a snapshot; a warning is written if it does not have ``namespace``."""
    dump = opened(args)
    if not args.manifests:
        warn_of_unknown_namespace(dump, namespace)
    return dump.snapshot()


def dump_of(paths: Sequence[str], args: argparse.Namespace, *, release_of: Callable[[Dump], str] | None = None) -> Dump:
    """The dump or the manifests of some paths; what could not be read is reported on standard error."""
    source = [BytesIO(standard_input().read()) if path == "-" else path for path in paths]
    dump = loaded(source, args)
    if not args.manifests and _is_pasted(dump):
        note("none of these objects has a uid, so they are read as manifests (--manifests)")
        args.manifests = True
        dump = loaded(_rewound(source), args)
    if release_of is not None and (release := release_of(dump)) != dump.release:
        args.reading_release = release
        dump = loaded(_rewound(source), args)
    _told(dump, manifests=args.manifests)
    if args.manifests:
        from simkit.logic.rbac.defaults import as_started

        dump = as_started(dump)
    return _limited(dump, args)


def _rewound(source: list[str | BytesIO]) -> list[str | BytesIO]:
    """The same sources, of which what was read from standard input can be read again."""
    for one in source:
        if isinstance(one, BytesIO):
            one.seek(0)
    return source


def _limited(dump: Dump, args: argparse.Namespace) -> Dump:
    """The dump; what an answer about it cannot see is told with the answer."""
    if dump.lost:
        limit([not_read(len(dump.lost))])
    if getattr(args, "about_access", True):
        limit(dump.authorization.caveats)
    return dump


def _with_cloud(dump: Dump, args: argparse.Namespace) -> Dump:
    """The dump with the access that the export of its provider tells, where there is one."""
    if not args.cloud:
        return dump
    from simkit.snapshot.cloud.exports import with_cloud

    return with_cloud(dump, args.cloud, args.unpack)


def loaded(source: Sequence[str | BytesIO], args: argparse.Namespace) -> Dump:
    """The dump of some paths, kept for the next command that reads them."""
    from simkit.snapshot.dump_cache import load_cached  # servers start without it

    dump = load_cached(
        source,
        use_cache=args.cache,
        release=args.reading_release,
        captured=["*"] if args.manifests else args.complete,
        secrets=getattr(args, "secrets", False),
        namespace=args.into,
        limits=args.unpack,
        authorization_mode=args.authorization_mode or (["RBAC"] if getattr(args, "demo", False) else ()),
    )
    return _with_cloud(dump, args)


def _is_pasted(dump: Dump) -> bool:
    """True for objects that are no dump: none has a uid, and there are bindings, but not all kinds of RBAC objects."""
    from simkit.analysis.rbac.objects import RBAC
    from simkit.logic.rbac.binding import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS

    captured = set(dump.captured)
    if not captured & {ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS} or set(RBAC) <= captured:
        return False
    return not any((one.get("metadata") or {}).get("uid") for one in dump.keyed.values())


def _live(args: argparse.Namespace) -> Dump:
    from simkit.cluster.loading import release_of
    from simkit.snapshot.live import LiveCluster
    from simkit.snapshot.load import load

    live = LiveCluster(args.context or "", args.kubeconfig)
    return load(
        live.pieces(),
        release=args.reading_release or release_of(live),
        captured=args.complete,
        authorization_mode=args.authorization_mode,
    )


def _told(dump: Dump, *, manifests: bool = False) -> Dump:
    problems = dump.warnings if dump.objects or manifests else dump.problems
    complain_of(problems)
    if not dump.objects and problems:
        raise SimkitError("no object could be read")
    return dump


def standard_input() -> BinaryIO:
    """The standard input of the command."""
    if sys.stdin.isatty():
        progress.silence()
        complain("reading standard input; press Ctrl-D to end it")
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
        note(f"the dump has no object in namespace {where!r}, and no list of namespaces{hint}")


def cluster_of(dump: Dump) -> Cluster:
    """A cluster with the objects of a dump, for commands that execute something. It always generates the same names."""
    from simkit.cluster.cluster import Cluster
    from simkit.cluster.options import Options

    return Cluster.of(dump, Options(release=dump.release, seed=1))


def demo_path() -> Path:
    """The path of the bundled cluster."""
    return datasets.path(datasets.DEMO)
