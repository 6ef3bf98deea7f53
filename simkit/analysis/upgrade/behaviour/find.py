"""One pass over items that looks for everything in the table of changed behaviour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from simkit.analysis.upgrade.behaviour.components import (
    GATES,
    MARKS,
    PLUGIN_FLAGS,
    Setting,
    documents,
    gate_changes,
    plugin_changes,
    settings,
)
from simkit.analysis.upgrade.behaviour.entries import VARIABLES, Detector, Entry, behaviour_entries, compiled
from simkit.analysis.upgrade.behaviour.places import PathTree, lines_naming, name_uses, path_text, pod_templates
from simkit.analysis.upgrade.items import Break, Item, break_of
from simkit.analysis.upgrade.span import ReleaseSpan, too_old
from simkit.meta.domain import SYSTEM_NAMESPACE, api_group, label
from simkit.meta.objects import at, labels_of
from simkit.snapshot.templates import Template as ChartTemplate

_BY_ROLE: Final[Mapping[str, tuple[str, bool]]] = {"preference": ("low", True), "text": ("low", False)}
"""Severity of places that name a label without depending on it, and whether they break."""

_ESCAPED: Final = rb"\\."
"""A dot in the name of a parameter of a chart, as JSON writes it."""
_PROXY_IMAGE: Final = re.compile(r"(?:^|/)kube-proxy[^:/@]*:v?(1\.\d+)")

_KUBELET: Final = ("status", "nodeInfo", "kubeletVersion")


class _Aim(NamedTuple):
    entry: Entry
    detector: Detector


class BehaviourSearch:
    """Looks for the changes of the releases of a span.

    Parameters
    ----------
    items
        What is known of the cluster: its CSI drivers, its namespaces, and the configuration that makes some changes
        harmless.
    """

    def __init__(self, span: ReleaseSpan, items: Iterable[Item] = ()) -> None:
        self.span, items = span, tuple(items)
        self._drivers = {item.name for item in items if (item.group, item.kind) == (api_group("storage"), "CSIDriver")}
        self._namespaces = {item.name: labels_of(item.obj) for item in items if item.kind == "Namespace"}
        self._harmless = _harmless_entries(items)
        self._fields: dict[str, PathTree[_Aim]] = {}
        self._pods: PathTree[_Aim] = PathTree()
        self._names: list[tuple[bytes, _Aim]] = []
        self._flags: dict[str, list[_Aim]] = {}
        self._versions: dict[str, _Aim] = {}
        self._tables: list[_Aim] = []
        self._skew: dict[str, _Aim] = {}
        for entry in behaviour_entries():
            if entry.fixed and span.has_fix(entry.fixed):
                continue
            if not entry.release or span.meets(entry.release):
                for detector in entry.detectors:
                    self._plan(_Aim(entry, detector))

    def _plan(self, aim: _Aim) -> None:
        detector = aim.detector
        if detector.pod:
            self._pods.add(detector.pod, aim)
        elif detector.name:
            self._names.append((detector.name.encode(), aim))
        elif detector.flag:
            self._flags.setdefault(detector.flag, []).append(aim)
        elif detector.volume:
            self._plan_volume(aim)
        elif detector.field:
            for kind in detector.kinds:
                self._tree(kind).add(detector.field, aim)
        elif detector.skew:
            self._skew[detector.skew] = aim
        elif detector.gates or detector.plugins:
            self._tables.append(aim)
        for version in detector.versions:
            self._versions[version] = aim

    def _plan_volume(self, aim: _Aim) -> None:
        if aim.detector.driver in self._drivers:
            return
        self._pods.add(("spec", "volumes", "*", aim.detector.volume), aim)
        self._tree("PersistentVolume").add(("spec", aim.detector.volume), aim)
        if aim.detector.provisioner:
            self._tree("StorageClass").add(("provisioner",), aim)

    def _tree(self, kind: str) -> PathTree[_Aim]:
        return self._fields.setdefault(kind, PathTree())

    def find(self, item: Item, body: bytes) -> Iterator[Break]:
        """The changes of the releases that concern one item. ``body`` is its text."""
        configures = any(mark in body for mark in MARKS) or not body
        yield from self._within(item, item.obj, (), body, item.file, configures=configures)
        for document in documents(item.obj) if configures else ():
            yield from self._within(item, *document, b"", "", configures=True)
        for name, aim in self._names:
            if not body or name in body or (_ESCAPED in body and name.replace(b".", _ESCAPED) in body):
                yield from self._named(item, aim)
        if item.kind == "Node":
            yield from self._skewed(item, "kubelet", _KUBELET, at(item.obj, *_KUBELET))

    def _within(
        self, item: Item, obj: Mapping[str, Any], start: tuple[str, ...], body: bytes, file: str, *, configures: bool
    ) -> Iterator[Break]:
        """The changes that concern an object or a document within one, which ``start`` leads to."""
        version = self._versions.get(str(obj.get("apiVersion")))
        if version is not None:
            yield self._row(item, version, (*start, "apiVersion"), "it is written in this version")
        tree = self._fields.get(str(obj.get("kind")))
        if tree is not None:
            for aim, path, value in tree.matches(obj, start):
                if self._holds(aim.detector, value, obj, {}, file):
                    yield self._row(item, aim, path, _shown(value))
        templates = list(pod_templates(obj, body))
        for place, template in templates:
            for aim, path, value in self._pods.matches(template, (*start, *place)):
                if self._holds(aim.detector, value, obj, template, file):
                    yield self._row(item, aim, path, _shown(value))
            for path, image in _proxy_images(template, (*start, *place)):
                yield from self._skewed(item, "kube-proxy", path, image)
        if configures:
            found = settings(obj, templates)
            yield from self._settings(item, (each._replace(path=(*start, *each.path)) for each in found))

    def values(self, item: Item) -> Iterator[Break]:
        """The labels and taints that the values of a chart name."""
        for _, aim in self._names:
            yield from self._named(item, aim)

    def template(self, template: ChartTemplate) -> Iterator[Break]:
        """The labels and taints that a template names, as far as its text tells it."""
        for _, aim in self._names:
            for number, line in lines_naming(template.text, aim.detector.name, aim.detector.instead):
                item = Item.of_template(template, number)
                if self._holds(aim.detector, line, item.obj, {}):
                    evidence = f"line {item.line} of the template names {aim.detector.name}"
                    yield self._row(item, aim, (), evidence, named=aim.detector.name)

    def _named(self, item: Item, aim: _Aim) -> Iterator[Break]:
        for use in name_uses(item.obj, aim.detector.name, aim.detector.instead):
            if use.role == "label" or not self._holds(aim.detector, use.text, item.obj, {}):
                continue
            severity, breaks = _BY_ROLE.get(use.role, (aim.entry.severity, aim.entry.breaks))
            evidence = {"text": "a text names it", "preference": "a preference names it"}.get(
                use.role, f"a {use.role} names {aim.detector.name}"
            )
            breaks = breaks and aim.entry.breaks
            yield self._row(item, aim, use.path, evidence, named=aim.detector.name, severity=severity, breaks=breaks)

    def _settings(self, item: Item, found: Iterable[Setting]) -> Iterator[Break]:
        for setting in found:
            for aim in self._flags.get(setting.flag, ()):
                detector = aim.detector
                if detector.component and setting.component not in detector.component:
                    continue
                if self._holds(detector, setting.value, item.obj, {}):
                    evidence = f"{setting.component} --{setting.flag}={setting.value}".rstrip("=")
                    yield self._row(item, aim, setting.path, evidence, named=f"--{setting.flag}")
            for aim in self._tables:
                known = setting.flag == GATES if aim.detector.gates else setting.flag in PLUGIN_FLAGS
                if not known:
                    continue
                changes = gate_changes(setting) if aim.detector.gates else plugin_changes(setting)
                for release, why in changes:
                    if self.span.meets(release):
                        evidence = f"{setting.component} --{setting.flag}={setting.value}"
                        yield self._row(item, aim, setting.path, evidence, title=why, release=release)

    def _skewed(self, item: Item, component: str, path: tuple[str, ...], version: Any) -> Iterator[Break]:
        """The first release on the way whose API server is too far from a component of a node."""
        release = next((each for each in self.span.hops if too_old(str(version), each)), "")
        if release and self.span.start:
            yield self._row(item, self._skew[component], path, f"the {component} is {version}", release=release)

    def _holds(
        self, detector: Detector, value: Any, obj: Mapping[str, Any], pod: Mapping[str, Any], file: str = ""
    ) -> bool:
        if detector.provisioner and obj.get("kind") == "StorageClass":
            return bool(value == detector.provisioner)
        namespace = str(at(obj, "metadata", "namespace") or SYSTEM_NAMESPACE)
        labels = {label("metadata.name"): namespace, **self._namespaces.get(namespace, {})}
        return _agrees(detector, value, obj, pod, file, labels)

    def _row(
        self,
        item: Item,
        aim: _Aim,
        path: tuple[str, ...],
        evidence: str,
        *,
        title: str = "",
        named: str = "",
        severity: str = "",
        breaks: bool | None = None,
        release: str = "",
    ) -> Break:
        """A row about a change. ``named`` is what the item names of the several things that an entry is about."""
        entry = aim.entry
        title = title or (entry.title if named.lstrip("-") in entry.title else f"{entry.title}: {named}")
        if entry.fixed and self.span.has_fix(entry.fixed) is None:
            severity, breaks = "info", False  # with the newest patch, nothing breaks
        if entry.id in self._harmless:
            severity, breaks, evidence = "info", False, f"{evidence}; the configuration of the cluster allows it"
        return break_of(
            item,
            release=release or entry.release,
            severity=severity or aim.detector.severity or entry.severity,
            check=entry.id,
            what=f"{title}. {entry.effect}",
            evidence=evidence,
            remedy=entry.remedy,
            source=entry.source,
            breaks=entry.breaks and aim.detector.breaks if breaks is None else breaks,
            field=path_text(path),
        )


def _shown(value: Any) -> str:
    """A value in few words."""
    if isinstance(value, str | int | float | bool):
        text = str(value)
        return f"it says {text if len(text) <= 80 else text[:77] + '...'}"
    return "the field is set"


def _proxy_images(template: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The releases of kube-proxy that the containers of a pod template run, by their images."""
    containers = at(template, "spec", "containers")
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        match = _PROXY_IMAGE.search(str(at(container, "image")))
        if match is not None:
            yield (*place, "spec", "containers", f"[{index}]", "image"), match[1]


def _harmless_entries(items: Iterable[Item]) -> set[str]:
    """The entries with which nothing breaks, because a configuration among some items says so."""
    tree: PathTree[_Aim] = PathTree()
    for entry in behaviour_entries():
        for detector in entry.unless:
            tree.add(detector.field, _Aim(entry, detector))
    return {
        aim.entry.id
        for item in items
        for obj in (item.obj, *(document for document, _ in documents(item.obj)))
        for aim, _, value in tree.matches(obj)
        if obj.get("kind") in aim.detector.kinds and _agrees(aim.detector, value, obj)
    }


def _agrees(
    detector: Detector,
    value: Any,
    obj: Mapping[str, Any],
    pod: Mapping[str, Any] | None = None,
    file: str = "",
    labels: Mapping[str, Any] | None = None,
) -> bool:
    """True if a value has what a detector looks for, and its expression holds."""
    if detector.matches is not None and not (isinstance(value, str) and detector.matches.search(value)):
        return False
    if not detector.when:
        return True
    from simkit.language.cel.errors import EvaluationError

    found = (value, obj, obj.get("kind"), pod or {}, file, labels or {})
    variables = dict(zip(VARIABLES, found, strict=True))
    try:
        return compiled(detector.when).evaluate(variables).value is True
    except EvaluationError:
        return False  # a field that the expression speaks of is missing, or of a wrong type
