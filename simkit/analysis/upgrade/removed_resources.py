"""Resources that a release removes, or that are disabled, held against items: written in them, stored without another
version, named in references.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from simkit.analysis.rendering import counted
from simkit.analysis.upgrade.items import Break, Item, break_of
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.kinds.conversions import ConversionError, convertible, explain
from simkit.meta.domain import LAST_APPLIED
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, GroupVersion
from simkit.meta.objects import annotations_of, at
from simkit.schema.catalogue import Catalogue, Resource
from simkit.schema.lifecycle import Lifecycle, every_resource, is_served, lifecycle_of, successor
from simkit.schema.releases import dated, minor_of
from simkit.snapshot.report import Problem
from simkit.snapshot.templates import Template

GUIDE: Final = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/"


@dataclass(frozen=True, slots=True)
class RemovedResource:
    """One resource of one version that is no longer served."""

    api_version: str
    resource: str
    kind: str
    left: tuple[str, ...]
    """Versions of the same objects that are still served, also under another group."""
    replacement: str
    """The version to use instead."""
    since: str = ""
    """The first release that does not serve it by default; empty where it is disabled."""

    @property
    def source(self) -> str:
        """The address of what Kubernetes tells about the removal."""
        return _source(self.since)

    @property
    def group(self) -> str:
        return GroupVersion.parse(self.api_version).group


class RemovedResources:
    """Everything that is taken away, found by version and resource or by version and kind."""

    def __init__(self, gone: Collection[RemovedResource], release: str) -> None:
        self.resources = tuple(gone)
        self.release = release
        """The release that does not serve them."""
        self._by_resource = {(each.api_version, each.resource): each for each in gone}
        self._by_kind = {(each.api_version, each.kind): each for each in gone}

    def __bool__(self) -> bool:
        return bool(self.resources)

    def resource(self, api_version: str, resource: str) -> RemovedResource | None:
        return self._by_resource.get((api_version, resource))

    def kind(self, api_version: str, kind: str) -> RemovedResource | None:
        return self._by_kind.get((api_version, kind))

    def successor(self, api_version: str, kind: str, release: str = "") -> str:
        """Version and kind that are served instead, at some release; empty where nothing takes their place."""
        found = successor(api_version, kind, release or self.release)
        gone = self.kind(api_version, kind)
        if gone is not None and self.kind(found.partition(" ")[0], kind) is not None:
            return f"{gone.left[0]} {kind}" if gone.left else ""
        return found

    def instead(self, api_version: str, kind: str) -> str:
        """What to do about a use, as a sentence."""
        found = self.successor(api_version, kind)
        return f"Use {found}." if found else without_successor(kind)


def without_successor(kind: str) -> str:
    """What to do about a kind that no other one replaces, as a sentence."""
    if kind == "PodSecurityPolicy":
        return "Label namespaces for Pod Security admission, then delete it."
    return "Delete it; no other version replaces it."


def removed_between(old: Catalogue, new: Catalogue) -> RemovedResources:
    """The resources that the old catalogue serves and the new one does not."""
    removed = [each for each in old.resources() if not each.custom and new.find(*each.gvr) is None]
    return _table(removed, new)


def removed_by(span: ReleaseSpan) -> RemovedResources:
    """The resources that an earlier release served and the end of a span does not, or those that are disabled.

    Of disabled elements, resources that an earlier release removed are found too: they may still be asked for.

    Raises
    ------
    SimkitError
        For a disabled element that neither the release nor an earlier one serves.
    """
    target = Catalogue.for_release(span.end)
    before = [each for _, each in every_resource() if _ends(each, span)]
    if span.coming:
        return _table(before, target.without(lambda resource: _ends(resource, span)))
    before = [each for each in before if target.find(*each.gvr) is None]
    if not span.disabled:
        return _table(before, target)
    for element in span.disabled:
        if not any(_named(each, [element]) for each in (*target.resources(), *before)):
            raise SimkitError(f"release {span.end} does not serve {element!r}")
    gone = [each for each in before if _named(each, span.disabled)]
    off = [each for each in target.resources() if _named(each, span.disabled)]
    return _table(gone, target.without(lambda resource: _named(resource, span.disabled)), off)


def served_elements(span: ReleaseSpan) -> list[str]:
    """The disabled elements of which the release serves something."""
    served = Catalogue.for_release(span.end).resources()
    return [element for element in span.disabled if any(_named(each, [element]) for each in served)]


def _ends(resource: Resource, span: ReleaseSpan) -> bool:
    known = lifecycle_of(resource.api_version, resource.kind)
    return known is not None and span.ends(known)


def _named(resource: Resource, elements: Sequence[str]) -> bool:
    names = {resource.group, resource.api_version, f"{resource.api_version}/{resource.resource}"}
    return not names.isdisjoint(filter(None, elements))


def _table(removed: Sequence[Resource], new: Catalogue, disabled: Sequence[Resource] = ()) -> RemovedResources:
    left: dict[GroupResource, list[str]] = {}
    for each in new.resources():
        left.setdefault(_place(each), []).append(each.api_version)
    gone = [_gone(each, left, new.release, disabled=False) for each in removed]
    gone += [_gone(each, left, new.release, disabled=True) for each in disabled]
    return RemovedResources(gone, new.release)


def _place(resource: Resource) -> GroupResource:
    return resource.storage if resource.stored else resource.group_resource


def _gone(resource: Resource, left: dict[GroupResource, list[str]], release: str, *, disabled: bool) -> RemovedResource:
    known = lifecycle_of(resource.api_version, resource.kind)
    replacement = successor(resource.api_version, resource.kind, release) if known is not None and known.end else ""
    since = known.end if known is not None else ""
    versions = tuple(left.get(_place(resource), ()))
    return RemovedResource(
        resource.api_version, resource.resource, resource.kind, versions, replacement, "" if disabled else since
    )


CHECK: Final = "api-version"
DEPRECATED: Final = "api-version-deprecated"
_SHOWN: Final = 4
_COMPONENTS: Final = frozenset(("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"))
"""Field managers that the upgrade replaces by those of the later release."""
_FAIRNESS: Final = "api-priority-and-fairness-config-"
"""How the names of the field managers begin that are kube-apiserver itself."""
_UNDATED: Final = "unknown"
"""Stands for a time that is not told; as a text it comes after all times."""
_DEEPEST: Final = 60


class GoneVersions:
    """The versions that the end of a span does not serve."""

    def __init__(self, span: ReleaseSpan) -> None:
        self.span = span
        self.removed: RemovedResources = removed_by(span)
        self.needles = sorted({each.api_version.encode() for each in self.removed.resources})

    def find(self, item: Item, body: bytes) -> Iterator[Break]:
        """The breaks of one item by the removal of versions. ``body`` is its text."""
        life = lifecycle_of(item.api_version, item.kind)
        if item.origin == "stored":
            yield from self._stored(item, life)
        elif life is not None:
            yield from self._written(item, life)
        if not body or any(needle in body for needle in self.needles):
            yield from self._named(item)

    # Manifests

    def _written(self, item: Item, life: Lifecycle) -> Iterator[Break]:
        if self.is_gone(life):
            evidence = "the release of the chart was" if item.origin == "chart release" else "the manifest is"
            yield self._row(item, life, f"{evidence} written in this version", "high", remedy=self._remedy(item, life))
        elif life.deprecated and minor_of(life.deprecated) <= minor_of(self.span.end):
            yield break_of(
                item,
                release=life.end or life.deprecated,
                severity="info",
                check=DEPRECATED,
                what=f"{life.api_version} {life.kind} is deprecated since {life.deprecated}"
                + (f", and goes with {life.end}" if life.end else ""),
                evidence="the manifest is written in this version",
                remedy=f"Use {life.instead}." if life.instead else "Do without it.",
                source=_source(life.end),
                breaks=False,
                field="apiVersion",
            )

    def template(self, template: Template, *, left_out: bool) -> Iterator[Break]:
        """The breaks of an unrendered template by the removal of versions.

        One that the values leave out breaks nothing, and one that asks what the server serves neither.
        """
        item, life = Item.of_template(template), lifecycle_of(template.api_version, template.kind)
        why = "it asks the server first" if template.asks_server else ""
        why = "the values leave it out" if left_out else why
        if not template.is_plain:
            yield unread(item.place, "the version in a template depends on values", item)
        elif life is not None:
            for row in self._written(item, life):
                evidence = f"{row.evidence}; {why}"
                yield row._replace(severity="info", breaks=False, evidence=evidence) if why else row

    # Stored objects

    def _stored(self, item: Item, life: Lifecycle | None) -> Iterator[Break]:
        # A server of the first release may have chosen the version for an answer, which then says nothing.
        was_listed = bool(self.span.start) and is_served(item.api_version, item.kind, self.span.start)
        if life is not None and self._is_unreachable(item, life):
            evidence = "no other version of it is served"
            remedy = self._remedy(item, life)
            yield self._row(item, life, evidence, "critical", remedy=remedy, what="its objects are lost")
        elif life is not None and item.file and self.is_gone(life) and not was_listed:
            remedy = self._remedy(item, life)
            yield self._row(item, life, "the file has the object in this version", "medium", remedy=remedy)
        managed = [each for each in at(item.obj, "metadata", "managedFields") or () if isinstance(each, Mapping)]
        for version, managers in _managers(managed).items():
            written = lifecycle_of(version, item.kind)
            if written is not None and self.is_gone(written) and not all(map(_comes_along, managers)):
                names, last = ", ".join(managers), max(managers.values())
                old = self._is_of_the_past(written, last)
                evidence = f"written by {names} in this version" + (
                    f", the last time {last}" if last != _UNDATED else ""
                )
                yield self._row(
                    item, written, evidence, "info" if old else "medium", remedy=self._instead(written),
                    breaks=not old, who=names, field="metadata.managedFields", api_version=version,
                )  # fmt: skip
        yield from self._applied(item, known=bool(managed))

    def _is_of_the_past(self, life: Lifecycle, last: str) -> bool:
        """True if a version was last written before the release was out that the upgrade starts from, or that was the
        last one to serve it: whoever wrote it has stopped.
        """
        if self.span.start and not self.span.meets(self._since(life)):
            return True
        first = minor_of(self.span.start) if self.span.start else minor_of(life.removed) - 1
        return any(each.minor == first and last < each.released.isoformat() for each in dated())

    def _is_unreachable(self, item: Item, life: Lifecycle) -> bool:
        found = self.removed.kind(item.api_version, item.kind)
        return self.is_gone(life) and found is not None and not found.left

    def _applied(self, item: Item, *, known: bool) -> Iterator[Break]:
        """The breaks by the last applied configuration. Field managers, if known, override a stale annotation."""
        text = annotations_of(item.obj).get(LAST_APPLIED)
        if not isinstance(text, str) or not any(needle.decode() in text for needle in self.needles):
            return
        try:
            applied = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        if not isinstance(applied, Mapping):
            return
        life = lifecycle_of(str(applied.get("apiVersion")), str(applied.get("kind")))
        if life is None or not self.is_gone(life):
            return
        evidence = "the last client-side apply used it" + (", maybe long ago" if known else "")
        yield self._row(
            item, life, evidence, "info" if known else "medium", remedy=self._instead(life),
            breaks=not known and (not self.span.start or self.span.meets(self._since(life))),
            field=f"metadata.annotations[{LAST_APPLIED}]", api_version=life.api_version,
        )  # fmt: skip

    # References within objects

    def _named(self, item: Item) -> Iterator[Break]:
        for path, version, kind, spelled in _references(item.obj, "", 0, self.removed):
            life = lifecycle_of(version, kind)
            if life is None or not self.is_gone(life):
                continue
            severity, evidence = (
                ("low", "a text spells it") if spelled else ("medium", "a reference or a part names it")
            )
            yield self._row(
                item, life, evidence, severity, remedy=self._instead(life), breaks=not spelled, field=path,
                api_version=version,
            )  # fmt: skip

    def is_gone(self, life: Lifecycle) -> bool:
        """True if a version is not served at the end of the span."""
        if self.span.disabled:
            return self.removed.kind(life.api_version, life.kind) is not None
        return self.span.ends(life)

    def _since(self, life: Lifecycle) -> str:
        gone = self.removed.kind(life.api_version, life.kind)
        return gone.since if gone is not None else life.end

    def _instead(self, life: Lifecycle) -> str:
        return self.removed.instead(life.api_version, life.kind)

    def _remedy(self, item: Item, life: Lifecycle) -> str:
        """The version to use, and what a change of the version alone would make different."""
        told = self._instead(life)
        if item.release:  # Helm compares with the manifest in its record, which no server takes after the upgrade
            return f"{told} Rewrite the record of the release: helm mapkubeapis {item.helm_release}."
        version = self.removed.successor(life.api_version, life.kind).partition(" ")[0]
        if not version or not convertible(life.kind, life.api_version, version):
            return told
        try:
            meaning = explain(item.obj, version, self.span.end).meaning
        except (ConversionError, AttributeError, TypeError, KeyError, ValueError):
            return told  # a broken manifest: the version is told all the same
        paths = list(dict.fromkeys(_told_path(each.path) for each in meaning))
        if not paths:
            return f"{told} Only apiVersion changes."
        more = f" and {counted(len(paths) - _SHOWN, 'more field')}" if len(paths) > _SHOWN else ""
        return f"{told} Fields change too: {', '.join(paths[:_SHOWN])}{more}; simkit migrate rewrites them."

    def _row(
        self,
        item: Item,
        life: Lifecycle,
        evidence: str,
        severity: str,
        *,
        remedy: str,
        what: str = "",
        breaks: bool = True,
        field: str = "apiVersion",
        who: str = "",
        api_version: str = "",
    ) -> Break:
        since = self._since(life)
        already = not self.span.meets(since)
        ends = "is planned not to be served any more" if life.planned and not life.removed else "is not served any more"
        return break_of(
            item,
            release=since,
            severity=severity,
            check=CHECK,
            what=f"{life.api_version} {life.kind} {ends}" + (f": {what}" if what else ""),
            evidence=evidence + (f"; {self.span.start} does not serve it either" if already else ""),
            remedy=remedy,
            source=_source(life.end),
            breaks=breaks,
            field=field,
            who=who,
            api_version=api_version,
        )


NOT_READ: Final = "not-read"
FAILS_ALREADY: Final = "fails-already"
"""The check of values that no server takes, before the upgrade or after it."""
_RENDER: Final = "Render the chart (helm template) and give the result."


def unread(where: str, why: str, item: Item, remedy: str = _RENDER, evidence: str = "") -> Break:
    """The row of something that could not be read, of which nobody knows whether it breaks."""
    return _about(item, NOT_READ, f"It could not be read: {why}", where, evidence, remedy)._replace(
        severity="medium", breaks=None
    )


def misread(problem: Problem) -> Break:
    """The row of a part of a source that could not be read, or that was read otherwise than it is written."""
    item = Item({}, "manifest", problem.file, problem.line)
    if problem.weight == "changed" and problem.line is not None:
        what = f"It was read otherwise than it is written: {problem.what}"
        return _about(item, "read-otherwise", what, item.place, problem.hint, "Correct it.")
    remedy = _RENDER if problem.what.startswith("a template") else "Correct it, and ask again."
    return unread(item.place, problem.what, item, remedy, problem.hint)


def fails_already(item: Item, why: str) -> Break:
    """The row of a value that no server takes."""
    return _about(item, FAILS_ALREADY, f"It fails already: {why}", item.title, "no server takes it", "Correct it.")


def _about(item: Item, check: str, what: str, where: str, evidence: str, remedy: str) -> Break:
    """A row that no release is the reason of."""
    return Break(
        "", "info", False, check, what, where, "", evidence,
        remedy, "", item.api_version, item.kind, "", item.name, "",
        item.file, item.line,
    )  # fmt: skip


def _source(release: str) -> str:
    return f"{GUIDE}#v{release.replace('.', '-')}" if release else GUIDE


def _told_path(path: str) -> str:
    """A path that is short enough to be told: of the schema of a definition only that it is one."""
    before, schema, _ = path.partition(".openAPIV3Schema")
    return before + schema


def _comes_along(manager: str) -> bool:
    return manager in _COMPONENTS or manager.startswith(_FAIRNESS)


def _managers(managed: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The managers that wrote each version, with the last time of each; ``_UNDATED`` where it is not told."""
    found: dict[str, dict[str, str]] = {}
    for each in managed:
        times = found.setdefault(str(each.get("apiVersion")), {})
        manager = str(each.get("manager") or "somebody")
        times[manager] = max(times.get(manager, ""), str(each.get("time") or _UNDATED))
    return found


def _references(value: Any, path: str, depth: int, removed: RemovedResources) -> Iterator[tuple[str, str, str, bool]]:
    """Path, version, kind and whether it stands in a text, of everything within an object that names a gone version."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        version, kind = value.get("apiVersion"), value.get("kind")
        if path and isinstance(version, str) and isinstance(kind, str) and removed.kind(version, kind) is not None:
            yield path, version, kind, False
        for name, inner in value.items():
            if not (path == "metadata" and name in ("managedFields", "annotations")):
                yield from _references(inner, f"{path}.{name}" if path else str(name), depth + 1, removed)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _references(inner, f"{path}[{index}]", depth + 1, removed)
    elif isinstance(value, str) and "apiVersion" in value:
        for each in _spelled(value, removed):
            yield path, each.api_version, each.kind, True


def _spelled(text: str, removed: RemovedResources) -> Iterator[RemovedResource]:
    for each in removed.resources:
        version = each.api_version
        forms = (f"apiVersion: {version}\n", f'apiVersion: "{version}"', f'"apiVersion":"{version}"', f'"{version}"')
        if version in text and any(form in f"{text}\n" for form in forms) and f"{each.kind}" in text:
            yield each
