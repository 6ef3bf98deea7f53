"""The loader of dumps and manifests: objects in the forms of kubectl, backups and other tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.errors import SimkitError
from simkit.meta.fielderror import quoted
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object
from simkit.meta.python_gc import collection_paused
from simkit.present.progress import task
from simkit.schema.releases import BASE
from simkit.seams.authorization import MODES, stated
from simkit.snapshot.completeness import captured_resources
from simkit.snapshot.dump import Dump
from simkit.snapshot.filenames import typed
from simkit.snapshot.flatten import Found, ListFlattener
from simkit.snapshot.object_collector import ObjectCollector
from simkit.snapshot.parse import documents
from simkit.snapshot.report import Report
from simkit.snapshot.resources import ResourceIndex
from simkit.snapshot.sources import Source, pieces
from simkit.snapshot.templates import Template, heads_of, is_template
from simkit.snapshot.unpacking import DEFAULT_LIMITS, Limits


def load(
    source: Source,
    *,
    release: str | None = None,
    captured: Iterable[str | GroupResource] = (),
    secrets: bool = False,
    namespace: str = DEFAULT_NAMESPACE,
    limits: Limits = DEFAULT_LIMITS,
    mistyped: bool = False,
    authorization_mode: Iterable[str] = (),
) -> Dump:
    """The objects of a dump, with a report of its problems.

    Parameters
    ----------
    source
        A file, a folder (read with its subfolders), an archive, a pattern such as ``dumps/*.yaml``; a snapshot or a
        data directory of etcd (through etcd's own tools, which have to be installed); text; an open
        file; decoded objects; or several of these. JSON, JSON lines, YAML with any number of documents, ``List`` and
        lists of one kind, compressed or not: the content decides, not the name. Of what must-gather, Velero, Sonobuoy
        and Troubleshoot write, the files that hold objects.
    release
        The release by which kinds and scopes are read; by default that of the server, where the source tells it, else
        1.30.
    captured
        What is complete in the dump although nothing in it shows that, as words: ``["roles", "secrets"]``, ``["*"]``.
        Without it, a resource counts as captured when there is an object of it, a list of its kind (even an empty
        one), or an empty list in a file named after it; but not when a list of it breaks off.
    secrets
        Whether to keep the values of secrets. Otherwise their keys stay with empty values, also in the annotation
        that repeats what was applied last.
    namespace
        Where objects go that live in namespaces and name none, as ``kubectl apply -n`` has it.
    limits
        What compressed files and archives may unpack to.
    mistyped
        Whether to keep objects with fields of wrong types, which no server stores: for manifests, which a server then
        refuses with its own words.
    authorization_mode
        The authorizers of the server in order; by default those of the static pod of kube-apiserver in the dump.

    Raises
    ------
    SimkitError
        For a path at which there is nothing, and for an authorization mode that there is not. Broken content raises
        nothing: it is in ``problems``, and the rest is loaded. Namespaced objects without a namespace are put into one;
        of two objects with the same key the later one counts; both are reported.

    Notes
    -----
    About 1.5 s for 100,000 config maps of 1 KB as JSON, 8 s as YAML. A bar shows after two seconds.

    Examples
    --------
    >>> dump = load("{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: shop}}")
    >>> dump
    <Dump: 1 objects of 1 resources, read as release 1.30
      1 serviceaccounts>
    >>> [str(resource) for resource in dump.captured]
    ['serviceaccounts']
    """
    modes = tuple(authorization_mode)
    for mode in modes:
        if mode not in MODES:
            raise SimkitError(
                f"authorization-mode {quoted(mode)} is not a valid mode (known modes: {', '.join(MODES)})"
            )
    with collection_paused():
        report = Report()
        flattener = ListFlattener(report)
        found = _found(source, flattener, report, limits, release or BASE)
        read_as = release or flattener.server_release or BASE
        index = ResourceIndex.of((each.value for each in found if isinstance(each.value, dict)), read_as)
        collector = ObjectCollector(index, report, secrets=secrets, namespace=namespace, mistyped=mistyped)
        for each in found:
            collector.take(typed(each, index))
        collector.finish(release_is_told=bool(flattener.server_release))
        complete = captured_resources(index, flattener, collector.keyed, list(captured), report)
        told, withheld = flattener.server_release, collector.withheld
        chain = stated(modes) if modes else None
        return Dump(collector.keyed, complete, tuple(report), index, collector.origins, withheld, told, chain)


class Documents(NamedTuple):
    """The documents of a source: objects and other mappings, templates of charts, problems, the server's release."""

    found: list[Found]
    templates: list[Template]
    report: Report
    server_release: str


def read_documents(source: Source, limits: Limits = DEFAULT_LIMITS) -> Documents:
    """Every document of a source as it stands there, templates of charts apart, and what could not be read.

    Unlike ``load`` it keeps documents of the same name and documents without a name.

    Raises
    ------
    SimkitError
        For a path at which there is nothing.
    """
    with collection_paused():
        report = Report()
        flattener = ListFlattener(report)
        found: list[Found] = []
        templates: list[Template] = []
        for piece in pieces(source, report, limits):
            if is_template(piece):
                templates += heads_of(piece)
                continue
            for document in documents(piece, report, _ignore):
                found += flattener.objects(document, piece.file)
        return Documents(found, templates, report, flattener.server_release)


def _ignore(_: int) -> None:
    """Progress that nobody looks at."""


def _found(source: Source, flattener: ListFlattener, report: Report, limits: Limits, release: str) -> list[Found]:
    """Every object of the source. Texts are released as soon as they are parsed."""
    waiting = list(pieces(source, report, limits, release=release))
    waiting.reverse()
    found: list[Found] = []
    with task("loading", sum(piece.size for piece in waiting), unit="B") as progress:
        while waiting:
            piece = waiting.pop()
            for document in documents(piece, report, progress.advance):
                found += flattener.objects(document, piece.file)
    return found


def manifests(source: Source, release: str, *, namespace: str = DEFAULT_NAMESPACE) -> Sequence[Object]:
    """The objects of manifests, in order, with lists split and secrets complete.

    Unlike the load of a dump, nothing may be lost: SimkitError tells what could not be read. Objects without a
    namespace get the given one.
    """
    return _whole(load(source, release=release, secrets=True, namespace=namespace)).objects


def placed_manifests(source: Source, release: str, *, namespace: str = DEFAULT_NAMESPACE) -> Dump:
    """As ``manifests``, with files and lines. Objects with fields of wrong types are kept, for a server to refuse."""
    return _whole(load(source, release=release, secrets=True, namespace=namespace, mistyped=True))


def _whole(dump: Dump) -> Dump:
    if dump.lost:
        raise SimkitError("; ".join(problem.as_refusal() for problem in dump.lost))
    return dump
