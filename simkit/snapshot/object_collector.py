"""The values that count as objects, and their corrections."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import orjson

from simkit.meta.domain import DEFAULT_NAMESPACE
from simkit.meta.go_json import ROOM_OF_STORED, nested
from simkit.meta.integers import is_digits
from simkit.meta.names import Key
from simkit.meta.objects import Object, at, with_metadata
from simkit.snapshot.field_types import first_mismatch
from simkit.snapshot.filenames import KUSTOMIZATION, other_than_objects
from simkit.snapshot.flatten import Found
from simkit.snapshot.memory import core_event
from simkit.snapshot.report import PLACED, Report
from simkit.snapshot.resources import ResourceIndex, RESTMapping
from simkit.snapshot.withhold import is_secret, withheld

_EVERYWHERE: Final = "the dump"


class ObjectCollector:
    """Collects objects by key. Call ``take`` for each, then ``finish`` for problems that concern many."""

    def __init__(
        self,
        index: ResourceIndex,
        report: Report,
        *,
        secrets: bool,
        namespace: str = DEFAULT_NAMESPACE,
        mistyped: bool = False,
    ) -> None:
        self._index, self._report, self._secrets, self._namespace = index, report, secrets, namespace
        self._mistyped = mistyped
        self.keyed: dict[Key, Object] = {}
        self.origins: dict[Key, tuple[str, int | None]] = {}
        self.withheld = 0
        self._unknown: dict[tuple[str, str], Found] = {}
        self._old: Counter[tuple[str, str]] = Counter()
        self._unkept: Counter[str] = Counter()
        self._repeated: Counter[str] = Counter()

    def take(self, found: Found) -> None:
        """Add the object, or report why it cannot be added."""
        obj = found.value
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        meta = obj.get("metadata")
        complaint = _complaint(api_version, kind, meta)
        if complaint and (other := other_than_objects(found)):
            # patches of a kustomization change what the other files say
            self._report.add(found.file, found.line, other, weight="changed" if other == KUSTOMIZATION else "note")
            return
        if complaint:
            where = f"{found.where}: " if found.where else ""
            self._report.add(found.file, found.line, where + complaint[0], complaint[1])
            return
        unwritable = _cannot_be_written(obj)
        if unwritable:
            hint = "it was left out, as no server can answer with it"
            self._report.add(found.file, found.line, f"{kind} {meta['name']} {unwritable}", hint)
            return
        mapping = self._index.mapping(api_version, kind)
        if not mapping.kept:
            self._unkept[kind] += 1
            return
        if not mapping.version_served:
            self._remember_version(mapping, api_version, kind, found)
        wrong = None if self._mistyped else first_mismatch(obj, self._index.release)
        if wrong is not None:
            what = f"{kind} {meta['name']}: {wrong}"
            self._report.add(found.file, found.line, what, "it was left out, as kube-apiserver refuses it")
            return
        namespace = meta.get("namespace") or ""
        if mapping.namespaced is not None and mapping.namespaced != bool(namespace):
            obj, namespace = self._seated(obj, mapping, found)
        if not self._secrets and is_secret(obj):
            obj = withheld(obj)
            self.withheld += 1
        self._keep(Key(mapping.stored, namespace, meta["name"]), obj, found)

    def _remember_version(self, mapping: RESTMapping, api_version: str, kind: str, found: Found) -> None:
        if mapping.served is None:
            self._unknown.setdefault((api_version, kind), found)
        else:
            self._old[api_version, kind] += 1

    def _seated(self, obj: Object, mapping: RESTMapping, found: Found) -> tuple[Object, str]:
        """The object with its namespace corrected for the scope of its resource."""
        name = f"{obj['kind']} {obj['metadata']['name']}"
        if mapping.namespaced:
            what, hint = f"{name} has no namespace", f"{PLACED}{self._namespace}"
        else:
            what, hint = f"{name} has a namespace, which its kind cannot have", "it was taken away"
        self._report.add(found.file, found.line, what, hint, weight="changed")
        namespace = self._namespace if mapping.namespaced else ""
        return with_metadata(obj, namespace=namespace or None), namespace

    def _keep(self, key: Key, obj: Object, found: Found) -> None:
        earlier = self.keyed.get(key)
        if earlier is not None:
            self._report_duplicate(key, earlier, obj, found)
        self.keyed[key] = obj
        self.origins[key] = (found.file, found.line)

    def _report_duplicate(self, key: Key, earlier: Object, obj: Object, found: Found) -> None:
        if earlier == obj or (key.resource.resource == "events" and core_event(earlier) == core_event(obj)):
            self._repeated[found.file] += 1
            return
        file, line = self.origins[key]
        where = file if line is None else f"{file}:{line}"
        what = f"{key} is there twice and differs (before: {where})"
        self._report.add(found.file, found.line, what, "the later one counts", weight="changed")

    def finish(self, *, release_is_told: bool = False) -> None:
        """Report problems that concern many objects; what nodes run is one only where no server tells its release."""
        for (api_version, kind), found in self._unknown.items():
            what = (
                f"{kind} ({api_version}) is no kind of release {self._index.release}, and no definition of it is here"
            )
            plural = self._index.mapping(api_version, kind).resource
            hint = f"it was taken for {plural}; dump customresourcedefinitions too"
            self._report.add(found.file, found.line, what, hint, weight="note")
        for (api_version, kind), count in self._old.items():
            what = f"{count:,} of kind {kind} are {api_version}, which release {self._index.release} does not serve"
            self._report.add(_EVERYWHERE, None, what, "they were kept as they are", weight="note")
        for kind, count in self._unkept.items():
            what = f"{count:,} of kind {kind}, which no server keeps"
            self._report.add(_EVERYWHERE, None, what, "they were left out", weight="note")
        for file, count in self._repeated.items():
            self._report.add(file, None, f"{count:,} objects were there before, just the same", weight="note")
        if not release_is_told:
            self._note_release()

    def _note_release(self) -> None:
        """Note the release that nodes report."""
        nodes = (obj for key, obj in self.keyed.items() if key.resource == ("", "nodes"))
        running = {_minor(at(node, "status", "nodeInfo", "kubeletVersion")) for node in nodes} - {""}
        if running and self._index.release not in running:
            what = f"nodes run {', '.join(sorted(running))}, but kinds were read as of {self._index.release}"
            newest = max(running, key=lambda release: [int(part) for part in release.split(".")])
            self._report.add(
                _EVERYWHERE,
                None,
                what,
                f"if it is known, say so: --release {newest} (in Python, release='{newest}')",
                weight="note",
            )


def _complaint(api_version: Any, kind: Any, meta: Any) -> tuple[str, str] | None:
    """The reason why a value is no valid object, and a suggestion; None if it is valid."""
    if not (api_version and isinstance(api_version, str) and kind and isinstance(kind, str)):
        missing = " and ".join(
            word
            for word, value in (("apiVersion", api_version), ("kind", kind))
            if not (value and isinstance(value, str))
        )
        return f"an object without {missing}", "it was left out; say what it is"
    if not isinstance(meta, dict):
        return f"{_a(kind)} without metadata", "it was left out"
    name, namespace = meta.get("name"), meta.get("namespace")
    if not name:
        made = " (generateName makes one only when it is created)" if meta.get("generateName") else ""
        return f"{_a(kind)} has no name{made}", "it was left out; give it metadata.name"
    if not isinstance(name, str):
        return f"the name of {_a(kind)} is not text: {name!r}", "it was left out; put the name in quotes"
    if namespace is not None and not isinstance(namespace, str):
        return f"the namespace of {kind} {name} is not text: {namespace!r}", "it was left out; put it in quotes"
    return None


def _a(kind: str) -> str:
    return f"an {kind}" if kind[:1] in "AEIOaeio" else f"a {kind}"


def _cannot_be_written(obj: Object) -> str:
    """The reason why an object cannot be encoded within a list or an event; empty if it can."""
    try:
        orjson.dumps(nested(obj, ROOM_OF_STORED))
    except TypeError as error:
        return "nests too deeply" if "ecursion" in str(error) else f"cannot be written as JSON ({error})"
    return ""


def _minor(version: Any) -> str:
    """The minor release ``1.30`` of ``v1.30.4``; empty for anything else."""
    parts = str(version or "").removeprefix("v").split(".")
    return ".".join(parts[:2]) if len(parts) > 1 and all(map(is_digits, parts[:2])) else ""
