"""The words of a question about access, and notes on it, so that a slip of the pen does not look like an answer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from simkit.cli.notes import note
from simkit.meta.names import GroupResource

if TYPE_CHECKING:
    from simkit.seams.snapshot import Snapshot

_NAMESPACES: Final = GroupResource("", "namespaces")
SUBJECTS: Final = ("user:", "group:", "sa:", "system:")
"""How words begin that are subjects, where a verb or a kind may stand too."""


def add_object_words(parser: argparse.ArgumentParser) -> None:
    """Add the words RESOURCE and NAME to a command."""
    parser.add_argument("resource", nargs="?", default="", metavar="RESOURCE", help="pods, po, deployments.apps, ...")
    told = "the name of one object (default: any request without a name)"
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help=told)


def add_object_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say more of what is asked for to a command."""
    parser.add_argument("--subresource", default="", help="a subresource, such as log or exec")
    parser.add_argument("--url", default="", help="a non-resource URL, such as /metrics, instead of a resource")
    parser.add_argument("--api-group", help="the API group of a resource that the cluster does not serve")


def add_groups(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--group`` to a command."""
    told = "a group of the subject; may be repeated"
    parser.add_argument("--group", "--as-group", dest="groups", action="append", default=[], metavar="GROUP", help=told)


def note_unknown_subjects(snapshot: Snapshot, args: argparse.Namespace) -> None:
    """Tell which subjects of ``--subject`` no binding names, unless the answer itself warns of them."""
    for one in args.subject or ():
        if not one.startswith("pod:") and (told := unknown_subject(snapshot, one, args, warned=True)):
            note(told)


def unknown_subject(snapshot: Snapshot, subject: str, args: argparse.Namespace, *, warned: bool = False) -> str:
    """A sentence on a subject that no binding names; empty for others, and where groups are given that it may be in."""
    from simkit.analysis.rbac.unknown_names import unnamed

    grouped = any(getattr(args, name, ()) for name in ("members", "groups"))
    return "" if grouped else unnamed(snapshot, subject, warned=warned)


def settle_words(args: argparse.Namespace) -> None:
    """Take NAMESPACE/NAME, as answers print objects, for a name in a namespace.

    Raises SimkitError for apps/v1.
    """
    from simkit.analysis.access.resolve import refuse_version

    refuse_version(args.api_group or "")
    namespace, slash, name = args.name.partition("/")
    if slash and not args.namespace:
        args.namespace, args.name = namespace, name


def note_remarks(snapshot: Snapshot, args: argparse.Namespace) -> None:
    """Tell what a verb, a resource and a name mean, where they mean less than they seem to."""
    from simkit.analysis.access.near_misses import remarks
    from simkit.analysis.access.resolve import resolve_permission

    if args.api_group is None:
        for remark in remarks(snapshot, args.verb, args.resource, name=args.name, url=args.url):
            note(remark)
    if args.api_group is None and args.namespace and args.resource:
        asked = resolve_permission(snapshot, args.verb, args.resource)
        if not asked.is_placed and not asked.is_namespace:
            note(f"{args.resource} is not namespaced, so -n {args.namespace} does not apply")
    if args.name and not args.namespace and _is_namespace(snapshot, args.resource, args.name):
        note(f"{args.name} is taken for the name of an object; in the namespace {args.name}: -n {args.name}")


def _is_namespace(snapshot: Snapshot, resource: str, name: str) -> bool:
    """True if the name of an object of another resource is that of a namespace."""
    if resource == _NAMESPACES.resource or _NAMESPACES not in snapshot.captured():
        return False
    return snapshot.get(_NAMESPACES, name) is not None
