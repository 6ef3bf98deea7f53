"""Compatibility of a changed custom resource definition: with the policy, and with every stored object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simkit.analysis.rbac.tables import SEVERITY_WORDS, table
from simkit.analysis.result import Result
from simkit.analysis.upgrade.items import read_items
from simkit.analysis.upgrade.schema_changes import schema_changes
from simkit.kinds.conversions import convert
from simkit.logic.lifecycle.calendar import Track, track_of
from simkit.meta.domain import EXTENSIONS_GROUP
from simkit.meta.errors import IncompleteSnapshot, SimkitError
from simkit.meta.identity import administrator
from simkit.meta.message import Request, Response
from simkit.meta.names import GroupResource
from simkit.meta.objects import Object, at, name_of, namespace_of, with_metadata
from simkit.schema.behaviour import OWN
from simkit.seams.snapshot import Sandbox
from simkit.snapshot.sources import Source

if TYPE_CHECKING:
    import pandas as pd

_STABLE: Final = f"{EXTENSIONS_GROUP}/v1"
_PATH: Final = f"/apis/{_STABLE}/customresourcedefinitions"


class DefinitionChange(NamedTuple):
    """One change of a definition. ``objects`` counts the stored objects that it concerns; None: nobody looked."""

    severity: str
    breaks: bool
    definition: str
    version: str
    field: str
    change: str
    why: str
    objects: int | None = None
    example: str = ""


@dataclass(frozen=True, slots=True)
class DefinitionDiff(Result):
    """The changes between definitions, worst first. It is true if they are compatible."""

    rows: tuple[DefinitionChange, ...]
    tried: bool = False
    """True if the change and every stored object were tried on a fork."""

    def __bool__(self) -> bool:
        return not any(row.breaks for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """One row per change: severity, breaks, definition, version, field, change, why, objects (how many stored ones
        it concerns; NA where nobody looked), example."""
        made = table(self.rows, DefinitionChange._fields)
        return made.astype({"objects": "Int64"})

    def summary(self) -> pd.DataFrame:
        """DataFrame with one row per definition: definition, breaks, other (numbers of changes)."""
        rows = []
        for name in dict.fromkeys(row.definition for row in self.rows):
            own = [row.breaks for row in self.rows if row.definition == name]
            rows.append((name, sum(own), len(own) - sum(own)))
        return table(rows, ("definition", "breaks", "other"))

    def __repr__(self) -> str:
        breaks = sum(row.breaks for row in self.rows)
        return (
            f"<DefinitionDiff: {len(self.rows)} changes, {breaks} of them break; {'' if self.tried else 'not '}tried>"
        )


def definition_changes(old: Source, new: Source, *, sandbox: Sandbox | None = None) -> DefinitionDiff:
    """The changes between custom resource definitions, judged by the policy and by what is stored.

    Parameters
    ----------
    old, new
        Files, folders, texts or objects with definitions; those of the same name are compared.
    sandbox
        A cluster on a fork of which the new definitions are put in place and every stored object is created anew as a
        trial, with strict validation.

    Returns
    -------
    DefinitionDiff
        ``to_frame()`` has one row per change: severity, breaks, definition, version, field, change, why, objects,
        example. It is true if nothing breaks.

    Raises
    ------
    SimkitError
        Where one of the sides has no definition, or has a document that cannot be read.

    Examples
    --------
    >>> names = {"plural": "shops", "kind": "Shop"}
    >>> version = {"name": "v1", "served": True, "storage": True}
    >>> spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    >>> old = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    >>> old["metadata"] = {"name": "shops.example.com"}
    >>> found = definition_changes(old, {**old, "spec": {**spec, "versions": [{**version, "name": "v2"}]}})
    >>> [(row.version, row.change) for row in found.rows if row.breaks]
    [('v1', 'the version is gone')]
    """
    before, after = read_definitions(old, "old"), read_definitions(new, "new")
    rows: list[DefinitionChange] = []
    for name, definition in before.items():
        if name not in after:
            why = "All objects of the kind are deleted with it."
            rows.append(DefinitionChange("critical", True, name, "", "", "the definition is gone", why))
        else:
            rows += _changes(name, definition, after[name])
    if sandbox is not None:
        rows += _tried(sandbox.fork(), after)
    rows.sort(key=lambda row: (not row.breaks, -SEVERITY_WORDS.index(row.severity), row.definition, row.field))
    return DefinitionDiff(tuple(rows), sandbox is not None)


def read_definitions(source: Source, side: str) -> dict[str, Object]:
    """The definitions of a source by name. Raises SimkitError where there is none, or it cannot be read whole."""
    found: dict[str, Object] = {}
    items = read_items(source)
    if items.problems:
        raise SimkitError(f"the {side} side cannot be read whole: {'; '.join(map(str, items.problems[:3]))}")
    for item in items.items:
        if item.kind == "CustomResourceDefinition" and item.group == EXTENSIONS_GROUP:
            found[item.name] = convert(item.obj, _STABLE, OWN)
    if not found:
        raise SimkitError(f"there is no CustomResourceDefinition on the {side} side")
    return found


def _changes(name: str, old: Object, new: Object) -> Iterator[DefinitionChange]:
    for path in (("group",), ("scope",), ("names", "plural"), ("names", "kind")):
        first, second = at(old, "spec", *path), at(new, "spec", *path)
        if first != second:
            told = f"{path[-1]} changes from {first} to {second}"
            why = "It cannot be changed: the definition has to be deleted, and all objects with it."
            yield DefinitionChange("critical", True, name, "", ".".join(("spec", *path)), told, why)
    before, after = _versions(old), _versions(new)
    stored = set(at(old, "status", "storedVersions") or [_storage(before)])
    for version, entry in before.items():
        yield from _version(name, version, entry, after.get(version), stored)
    if _storage(before) != _storage(after):
        told = f"new objects are stored as {_storage(after)}, no longer as {_storage(before)}"
        why = "Write every object once before the old version is taken out of status.storedVersions."
        yield DefinitionChange("low", False, name, _storage(after), "", told, why)
    yield from _conversion(name, new, after)


def _versions(definition: Object) -> dict[str, Mapping[str, Any]]:
    return {str(each.get("name")): each for each in at(definition, "spec", "versions") or ()}


def _storage(versions: Mapping[str, Mapping[str, Any]]) -> str:
    return next((name for name, each in versions.items() if each.get("storage")), "")


def _version(
    name: str, version: str, old: Mapping[str, Any], new: Mapping[str, Any] | None, stored: set[str]
) -> Iterator[DefinitionChange]:
    if new is None:
        why = "Clients of it get 404."
        if version in stored:
            why = "kube-apiserver refuses it while status.storedVersions names the version; clients of it get 404."
        if track_of(version) is Track.GA:
            why += " The policy does not let a stable version go within a major one."
        yield DefinitionChange("critical", bool(old.get("served")), name, version, "", "the version is gone", why)
        return
    if old.get("served") and not new.get("served"):
        told = "the version is not served any more"
        yield DefinitionChange("critical", True, name, version, "served", told, "Clients of it get 404.")
    if new.get("deprecated") and not old.get("deprecated"):
        told = "the version is deprecated"
        yield DefinitionChange("info", False, name, version, "deprecated", told, "Clients of it get a warning.")
    yield from _subresources(name, version, old, new)
    first, second = (at(each, "schema", "openAPIV3Schema") or {} for each in (old, new))
    for field, change, severity, breaks, why in schema_changes(first, second):
        yield DefinitionChange(severity, breaks, name, version, field, change, why)


def _subresources(
    name: str, version: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[DefinitionChange]:
    for part in ("status", "scale"):
        first, second = at(old, "subresources", part), at(new, "subresources", part)
        field = f"subresources.{part}"
        if first is not None and second is None:
            why = (
                "Requests to it get 404; writes of the object change the status too."
                if part == "status"
                else ("Autoscalers and kubectl scale get 404.")
            )
            yield DefinitionChange("high", True, name, version, field, "the subresource is gone", why)
        elif first is None and second is not None and part == "status":
            why = "Writes of the object do not change the status any more: controllers must write to the subresource."
            yield DefinitionChange("high", True, name, version, field, "the subresource is new", why)
        elif part == "scale" and first is not None and first != second:
            why = "Autoscalers read and write other fields."
            yield DefinitionChange("medium", True, name, version, field, "the subresource changes", why)
    gone = {each.get("jsonPath") for each in old.get("selectableFields") or ()} - {
        each.get("jsonPath") for each in new.get("selectableFields") or ()
    }
    for path in sorted(map(str, gone)):
        why = "Lists and watches that select by it are refused."
        yield DefinitionChange("medium", True, name, version, path, "the field cannot be selected by any more", why)


def _conversion(name: str, new: Object, versions: Mapping[str, Mapping[str, Any]]) -> Iterator[DefinitionChange]:
    """Fields that only some served versions have, where nothing converts between them."""
    strategy = at(new, "spec", "conversion", "strategy") or "None"
    served = {key: each for key, each in versions.items() if each.get("served")}
    if strategy != "None" or len(served) < 2:
        return
    storage = at(versions.get(_storage(versions)), "schema", "openAPIV3Schema") or {}
    for version, entry in served.items():
        schema = at(entry, "schema", "openAPIV3Schema") or {}
        for change in schema_changes(schema, storage):
            if change.change == "the field is gone":
                why = (
                    f"What is written as {version} loses it: it is stored as {_storage(versions)}, nothing converts it."
                )
                told = f"{_storage(versions)} does not have the field"
                yield DefinitionChange("high", True, name, version, change.field, told, why)


# On a fork


def _tried(fork: Sandbox, definitions: Mapping[str, Object]) -> Iterator[DefinitionChange]:
    for name, definition in definitions.items():
        refused = _put(fork, name, definition)
        if refused:
            why = "The change cannot be made at all."
            yield DefinitionChange("critical", True, name, "", "", f"the server refuses it: {refused}", why)
            continue
        yield from _objects(fork, name, definition)


def _put(fork: Sandbox, name: str, definition: Object) -> str:
    """The message with which the server refuses a definition, empty where it takes it."""
    live = _ask(fork, "GET", f"{_PATH}/{name}")
    if live.succeeded:
        if not at(live.object, "status", "storedVersions"):  # a manifest, which no server has written its status into
            stored = {"storedVersions": [_storage(_versions(live.object))]}
            _ask(fork, "PUT", f"{_PATH}/{name}/status", {**live.object, "status": stored})
            live = _ask(fork, "GET", f"{_PATH}/{name}")
        wanted = {**live.object, "spec": definition["spec"]}
        answer = _ask(fork, "PUT", f"{_PATH}/{name}", wanted)
    else:
        bare = {key: value for key, value in definition.items() if key != "status"}
        answer = _ask(fork, "POST", _PATH, bare)
    return answer.message


def _objects(fork: Sandbox, name: str, definition: Object) -> Iterator[DefinitionChange]:
    """The stored objects that the new definition would not take, by what the server says."""
    group, plural = str(at(definition, "spec", "group")), str(at(definition, "spec", "names", "plural"))
    versions = _versions(definition)
    try:
        stored = list(fork.snapshot().scan(GroupResource(group, plural)))
    except IncompleteSnapshot:
        return
    refused: dict[tuple[str, str], list[Object]] = {}
    for obj in stored:
        version = str(obj.get("apiVersion")).partition("/")[2]
        wanted = version if versions.get(version, {}).get("served") else _storage(versions)
        answer = _again(fork, {**obj, "apiVersion": f"{group}/{wanted}"}, group, wanted, plural)
        if not answer.succeeded:
            said = answer.message.replace(name_of(obj), "NAME")
            refused.setdefault((wanted, said), []).append(obj)
    for (version, said), found in refused.items():
        example = f"{namespace_of(found[0])}/{name_of(found[0])}".strip("/")
        why = "They cannot be created again, for example from a backup. With ratcheting, other fields can still change."
        yield DefinitionChange(
            "high", True, name, version, "", f"stored objects are refused: {said}", why, len(found), example
        )
    if not refused:
        yield DefinitionChange("info", False, name, "", "", "stored objects are taken as they are", "", len(stored))


def _again(fork: Sandbox, obj: Object, group: str, version: str, plural: str) -> Response:
    metadata = {name: at(obj, "metadata", name) for name in ("labels", "annotations", "namespace", "finalizers")}
    bare = with_metadata({**obj, "metadata": {"name": f"{name_of(obj)}-again"}}, **metadata)
    place = f"/namespaces/{namespace_of(obj)}" if namespace_of(obj) else ""
    return _ask(fork, "POST", f"/apis/{group}/{version}{place}/{plural}?dryRun=All&fieldValidation=Strict", bare)


def _ask(fork: Sandbox, method: str, path: str, body: Object | None = None) -> Response:
    return fork.perform(Request.of(method, path, body), identity=administrator())


__all__ = ["DefinitionChange", "DefinitionDiff", "definition_changes"]
