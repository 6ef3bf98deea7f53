"""API versions that go, held against items: written in them, stored without another one, named in references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from simkit.analysis.upgrade.breaks import Break, break_of
from simkit.analysis.upgrade.items import Item
from simkit.analysis.upgrade.removed_resources import RemovedResource, RemovedResources, removed_before
from simkit.analysis.upgrade.span import ReleaseSpan
from simkit.kinds.conversions import ConversionError, convertible, explain
from simkit.meta.domain import LAST_APPLIED
from simkit.meta.objects import annotations_of, at
from simkit.schema.catalogue import Catalogue
from simkit.schema.lifecycle import Lifecycle, is_served, lifecycle_of, successor
from simkit.schema.releases import minor_of
from simkit.snapshot.templates import Template

GUIDE: Final = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/"
CHECK: Final = "api-version"
DEPRECATED: Final = "api-version-deprecated"
_SHOWN: Final = 4
_DEEPEST: Final = 60


class GoneVersions:
    """The versions that the end of a span does not serve."""

    def __init__(self, span: ReleaseSpan) -> None:
        self.span = span
        target = Catalogue.for_release(span.end)
        self.removed: RemovedResources = removed_before(target, target)
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
            yield self._row(
                item, life, f"{evidence} written in this version", "high", remedy=_remedy(item, life, self.span.end)
            )
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
                source=_source(life),
                breaks=False,
                field="apiVersion",
            )

    def template(self, template: Template) -> Iterator[Break]:
        """The breaks of an unrendered template by the removal of versions."""
        item = Item(
            {"apiVersion": template.api_version, "kind": template.kind, "metadata": {"name": template.name}},
            "manifest",
            template.file,
            template.line,
        )
        life = lifecycle_of(template.api_version, template.kind)
        if not template.is_plain:
            yield unread(f"{template.file}:{template.line}", "the version in a template depends on values", item)
        elif life is not None:
            yield from self._written(item, life)

    # Stored objects

    def _stored(self, item: Item, life: Lifecycle | None) -> Iterator[Break]:
        if life is not None and self._is_unreachable(item, life):
            evidence = "no other version of it is served"
            remedy = _remedy(item, life, self.span.end)
            yield self._row(item, life, evidence, "critical", remedy=remedy, what="its objects are lost")
        elif life is not None and item.file and self.is_gone(life) and not self._was_listed(item):
            remedy = _remedy(item, life, self.span.end)
            yield self._row(item, life, "the file has the object in this version", "medium", remedy=remedy)
        managed = [each for each in at(item.obj, "metadata", "managedFields") or () if isinstance(each, Mapping)]
        for version, managers in _managers(managed).items():
            written = lifecycle_of(version, item.kind)
            if written is not None and self.is_gone(written):
                evidence = f"written by {', '.join(managers)} in this version"
                yield self._row(
                    item, written, evidence, "medium", remedy=_instead(written, self.span.end), who=", ".join(managers),
                    field="metadata.managedFields", api_version=version,
                )  # fmt: skip
        yield from self._applied(item, known=bool(managed))

    def _is_unreachable(self, item: Item, life: Lifecycle) -> bool:
        found = self.removed.kind(item.api_version, item.kind)
        return self.is_gone(life) and found is not None and found.objects_unreachable

    def _was_listed(self, item: Item) -> bool:
        """True if a server of the first release may have chosen the version for an answer, which then says nothing."""
        return bool(self.span.start) and is_served(item.api_version, item.kind, self.span.start)

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
            item, life, evidence, "info" if known else "medium", remedy=_instead(life, self.span.end), breaks=not known,
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
                item, life, evidence, severity, remedy=_instead(life, self.span.end), breaks=not spelled, field=path,
                api_version=version,
            )  # fmt: skip

    def is_gone(self, life: Lifecycle) -> bool:
        """True if a version is not served at the end of the span."""
        return bool(life.removed) and minor_of(life.removed) <= minor_of(self.span.end)

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
        already = not self.span.meets(life.removed)
        return break_of(
            item,
            release=life.removed,
            severity=severity,
            check=CHECK,
            what=f"{life.api_version} {life.kind} is not served any more" + (f": {what}" if what else ""),
            evidence=evidence + (f"; {self.span.start} does not serve it either" if already else ""),
            remedy=remedy,
            source=_source(life),
            breaks=breaks,
            field=field,
            who=who,
            api_version=api_version,
        )


_RENDER: Final = "Render the chart (helm template) and give the result."


def unread(where: str, why: str, item: Item, remedy: str = _RENDER) -> Break:
    """The row of something that could not be read, and so may break."""
    return Break(
        "", "info", False, "not-read", f"It could not be read: {why}", where, item.place, "",
        remedy, "", item.api_version, item.kind, "", item.name, "",
        item.file, item.line,
    )  # fmt: skip


def _source(life: Lifecycle) -> str:
    return f"{GUIDE}#v{life.end.replace('.', '-')}" if life.end else GUIDE


def _instead(life: Lifecycle, release: str) -> str:
    found = successor(life.api_version, life.kind, release)
    return f"Use {found}." if found else "There is no successor."


def _remedy(item: Item, life: Lifecycle, release: str) -> str:
    """The version to use, and what a change of the version alone would make different."""
    told, version = _instead(life, release), successor(life.api_version, life.kind, release).partition(" ")[0]
    if not version or not convertible(life.kind, life.api_version, version):
        return told
    try:
        meaning = explain(item.obj, version).meaning
    except (ConversionError, AttributeError, TypeError, KeyError, ValueError):
        return told  # a broken manifest: the version is told all the same
    paths = list(dict.fromkeys(_told_path(each.path) for each in meaning))
    if not paths:
        return f"{told} Only apiVersion changes."
    more = f" and {len(paths) - _SHOWN} fields more" if len(paths) > _SHOWN else ""
    return f"{told} Fields change too: {', '.join(paths[:_SHOWN])}{more}; simkit migrate rewrites them."


def _told_path(path: str) -> str:
    """A path that is short enough to be told: of the schema of a definition only that it is one."""
    before, schema, _ = path.partition(".openAPIV3Schema")
    return before + schema


def _managers(managed: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in managed:
        names = found.setdefault(str(each.get("apiVersion")), [])
        manager = str(each.get("manager") or "somebody")
        if manager not in names:
            names.append(manager)
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
