"""A CustomResourceDefinition as it is served: schema, rules and columns of each version, made on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, Final

from simkit.kinds.apiextensions.naming import found, holds
from simkit.kinds.parts.validation.object_meta import validate_annotations, validate_labels
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.errors import SimkitError, unexplained
from simkit.meta.fielderror import FieldError, aggregate_errors
from simkit.meta.names import GroupResource, GroupVersion, GroupVersionKind
from simkit.meta.objects import Object, at, metadata, name_of
from simkit.schema.custom.defaulting import drop_nulls, fill
from simkit.schema.custom.structural import ANYTHING, Properties, schema_of
from simkit.schema.pruning import prune
from simkit.schema.resources import Resource, SubresourceInfo
from simkit.schema.structural import Resolver, Schema
from simkit.schema.versions import version_rank

VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The verbs of custom resources, in the order of discovery."""
NO_NEW_ONES: Final = "create not allowed while custom resource definition is terminating"
"""The reason that a definition which is going away takes no new objects."""
_PART_VERBS: Final = ("get", "patch", "update")
_NUMBERS = count(1)

Conversion = Callable[["Definition", Sequence[Object], str], Sequence[Any] | None]
"""A function that converts objects to another apiVersion by a definition's webhook; None if it may not be called.

Raises ConversionFailed.
"""


def uncalled(definition: Definition, objects: Sequence[Object], api_version: str) -> None:
    """Conversion without a server: no webhook is called."""


class Definition:
    """One CustomResourceDefinition.

    Parameters
    ----------
    behaviour
        The behaviour of the release that serves it.
    obj
        The definition as it is stored.
    resolve
        Gives built-in types by name.
    trusted
        Whether it is served although nothing says yet that its names are accepted: definitions of a dump.
    conversion
        Asks its webhook, where it has one.
    """

    def __init__(
        self,
        behaviour: ServedBehaviour,
        obj: Object,
        resolve: Resolver,
        *,
        trusted: bool = False,
        conversion: Conversion = uncalled,
    ) -> None:
        self.behaviour = behaviour
        self.object, self.resolve, self.trusted, self._conversion = obj, resolve, trusted, conversion
        spec: Object = obj.get("spec") or {}
        self.spec = spec
        self.name, self.group = name_of(obj), str(spec.get("group") or "")
        names: Mapping[str, Any] = spec.get("names") or {}
        self.kind, self.plural = str(names.get("kind") or ""), str(names.get("plural") or "")
        self.namespaced = spec.get("scope") != "Cluster"
        self._twin: Definition | None = None
        self.mark = next(_NUMBERS)
        """A number that distinguishes this definition from earlier ones of its name."""

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.plural)

    @cached_property
    def is_served(self) -> bool:
        """True if its names are accepted and it was established."""
        if not (self.group and self.plural and self.kind):
            return False
        if self.trusted and found(self.object, "Established") is None:
            return True
        return holds(self.object, "Established")

    @cached_property
    def is_terminating(self) -> bool:
        """True if it is being deleted: no objects can be created then."""
        return holds(self.object, "Terminating") or at(self.object, "metadata", "deletionTimestamp") is not None

    @cached_property
    def calls_out(self) -> bool:
        """True if versions are converted by a webhook."""
        return bool(at(self.spec, "conversion", "strategy") == "Webhook")

    @property
    def loose(self) -> bool:
        """True if its objects keep unknown fields, as the first definitions did."""
        return self.spec.get("preserveUnknownFields") is True

    @cached_property
    def rows(self) -> Sequence[Object]:
        """The versions as written; v1beta1 may name only one."""
        written = self.spec.get("versions")
        rows = [row for row in written or () if isinstance(row, Mapping) and row.get("name")]
        if rows or not self.spec.get("version"):
            return rows
        return [{"name": self.spec["version"], "served": True, "storage": True}]

    @cached_property
    def storage_version(self) -> str:
        names = [row["name"] for row in self.rows if row.get("storage")] or [row["name"] for row in self.rows]
        return str(names[0]) if names else ""

    @cached_property
    def versions(self) -> Mapping[str, CustomVersion]:
        """All versions, served or not."""
        return {row["name"]: CustomVersion(self, row) for row in self.rows}

    @cached_property
    def resources(self) -> Sequence[Resource]:
        """The resources of the served versions, the preferred version first."""
        served = [name for name, version in self.versions.items() if version.row.get("served", True)]
        return [self.versions[name].resource for name in sorted(served, key=version_rank)]

    def version_of(self, obj: Object) -> CustomVersion | None:
        """The version of an object; None if the definition no longer has it."""
        return self.versions.get(GroupVersion.parse(obj.get("apiVersion") or "").version)

    def with_conversion(self, conversion: Conversion) -> Definition:
        """The same definition on a server with this conversion."""
        made = Definition(self.behaviour, self.object, self.resolve, trusted=self.trusted, conversion=conversion)
        made.mark, made._twin = self.mark, self
        return made

    def schema_of(self, version: CustomVersion) -> Schema:
        """The schema of a version as nodes, made once for the same definition on all servers."""
        if self._twin is not None:
            return self._twin.versions[version.name].schema
        return schema_of(version.properties, self.resolve, loose=self.loose)

    def converted(self, objects: Sequence[Object], wanted: CustomVersion) -> Sequence[Object] | None:
        """Objects in a version; None if that needs a webhook that may not be called.

        With the strategy None only the apiVersion changes. A webhook is asked about one object after the other that
        is in another version, as kube-apiserver does it. Raises a StatusError of 500 where it fails.
        """
        version = wanted.api_version
        if not self.calls_out:
            return [{**obj, "apiVersion": version} for obj in objects]
        found: list[Object] = []
        for obj in objects:
            made = [obj] if obj.get("apiVersion") == version else self._asked(obj, version)
            if made is None:
                return None
            found += made
        return found

    def _asked(self, obj: Object, version: str) -> Sequence[Object] | None:
        try:
            answered = self._conversion(self, [obj], version)
            return None if answered is None else accept_converted(self.behaviour, [obj], answered, version)
        except ConversionFailed as error:
            raise unexplained(str(error)) from None


class CustomVersion:
    """One version of a definition."""

    def __init__(self, definition: Definition, row: Object) -> None:
        self.definition, self.row = definition, row
        self.name: str = row["name"]
        self.api_version = f"{definition.group}/{self.name}"
        self.encoding = f"{self.api_version}#{definition.mark}"
        """The key of encoded bytes in this version, valid as long as the definition does not change."""

    @property
    def behaviour(self) -> ServedBehaviour:
        """The behaviour of the release that serves it."""
        return self.definition.behaviour

    @cached_property
    def properties(self) -> Properties:
        """The root of its OpenAPI schema."""
        own = at(self.row, "schema", "openAPIV3Schema")
        shared = at(self.definition.spec, "validation", "openAPIV3Schema")
        known = own if isinstance(own, Mapping) else shared if isinstance(shared, Mapping) else ANYTHING
        return {**known, "x-kubernetes-preserve-unknown-fields": True} if self.definition.loose else known

    @cached_property
    def schema(self) -> Schema:
        """Its schema as nodes."""
        return self.definition.schema_of(self)

    def _part(self, name: str) -> Any:
        own = self.row.get(name)
        return own if own is not None else self.definition.spec.get(name)

    @cached_property
    def subresources(self) -> Mapping[str, Any]:
        return {name: row for name, row in (self._part("subresources") or {}).items() if row is not None}

    @cached_property
    def columns(self) -> Sequence[Mapping[str, Any]]:
        """Printer columns as written."""
        columns: Sequence[Mapping[str, Any]] = self._part("additionalPrinterColumns") or ()
        return columns

    @cached_property
    def selectable(self) -> Sequence[str]:
        """The selectable fields besides name and namespace, as selectors name them."""
        rows = self._part("selectableFields") or ()
        return [str(row.get("jsonPath") or "").removeprefix(".") for row in rows]

    @cached_property
    def warning(self) -> str:
        """The warning for users of a deprecated version; empty for others."""
        if not self.row.get("deprecated"):
            return ""
        if self.row.get("deprecationWarning") is not None:
            return str(self.row["deprecationWarning"])
        text = f"{self.api_version} {self.definition.kind} is deprecated"
        rank = version_rank(self.name)
        better = [
            row["name"]
            for row in self.definition.rows
            if row.get("served") and not row.get("deprecated") and version_rank(row["name"]) < rank
        ]
        if not better:
            return text
        return f"{text}; use {self.definition.group}/{min(better, key=version_rank)} {self.definition.kind}"

    @cached_property
    def resource(self) -> Resource:
        """The resource that a server serves for it."""
        definition = self.definition
        names = at(definition.object, "status", "acceptedNames") or {}
        names = names if names.get("plural") and names.get("kind") else definition.spec.get("names") or {}
        parts = {}
        if "status" in self.subresources:
            parts["status"] = SubresourceInfo(definition.kind, _PART_VERBS, definition.namespaced)
        if "scale" in self.subresources:
            parts["scale"] = SubresourceInfo("Scale", _PART_VERBS, definition.namespaced, "autoscaling/v1")
        return Resource(
            definition.group,
            self.name,
            definition.plural,
            definition.kind,
            str(names.get("singular") or definition.kind.lower()),
            tuple(map(str, names.get("shortNames") or ())),
            tuple(map(str, names.get("categories") or ())),
            namespaced=definition.namespaced,
            verbs=VERBS,
            subresources=parts,
            storage_version=definition.storage_version,
            custom=True,
            list_kind=str(names.get("listKind") or ""),
            selectable=tuple(self.selectable),
        )

    def coerced(self, obj: Object) -> dict[str, Any]:
        """An object coerced to this version's schema: without unknown fields and forbidden nulls, with defaults."""
        return self._fitted(obj, defaults=True)

    def _fitted(self, obj: Object, *, defaults: bool) -> dict[str, Any]:
        content: dict[str, Any] = {name: value for name, value in obj.items() if name != "metadata"}
        content, _ = prune(self.behaviour, content, self.schema, stored=True)
        drop_nulls(content, self.schema)
        if defaults:
            fill(content, self.schema)
        head = {"apiVersion": self.api_version, "kind": self.definition.kind, "metadata": obj["metadata"]}
        return {**content, **head}

    def read(self, stored: Object) -> Object:
        """A stored object in this version. Raises a StatusError of 500 if its webhook fails."""
        return self.coerced(stored) if self.is_of(stored) else self.read_all([stored])[0]

    def read_all(self, stored: Sequence[Object]) -> Sequence[Object]:
        """Stored objects in this version.

        An object gets the defaults of the version that it is stored in, and of no other: as on kube-apiserver.
        """
        seen = [self._original(obj).coerced(obj) for obj in stored]
        if all(map(self.is_of, seen)):
            return seen
        converted = self.definition.converted(seen, self)
        if converted is None:
            raise unexplained(self._closed(next(obj for obj in seen if not self.is_of(obj))))
        return [self._fitted(obj, defaults=False) for obj in converted]

    def is_of(self, obj: Object) -> bool:
        """True if an object has this version."""
        return bool(obj.get("apiVersion") == self.api_version)

    def _original(self, stored: Object) -> CustomVersion:
        """The version in which an object is stored. Raises the 500 of one that the definition no longer has."""
        found = self.definition.version_of(stored)
        if found is None:
            told = f"request to convert CR from an invalid group/version: {stored.get('apiVersion')}"
            raise unexplained(told)
        return found

    def _closed(self, obj: Object) -> str:
        return (
            f"conversion for {kind_text(obj)} failed: the conversion webhook of {self.definition.name} may not be "
            f"called, so that there is no {self.api_version} of it; open the gateway or give a function for it"
        )

    def stored(self, wanted: Object) -> Object:
        """An object of this version in its stored form: in the storage version, without fields unknown there.

        Where its webhook may not be called it is kept as it was written.
        """
        target = self.definition.versions[self.definition.storage_version]
        if target.is_of(wanted):
            return wanted
        converted = self.definition.converted([wanted], target)
        return wanted if converted is None else target._fitted(converted[0], defaults=False)


class Provider:
    """The schemas and versions of custom kinds, for a catalogue."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._versions = {
            resource.gvk: definition.versions[resource.version]
            for definition in definitions
            for resource in definition.resources
        }

    def __call__(self, gvk: GroupVersionKind) -> Schema:
        return self.version(gvk).schema

    def version(self, gvk: GroupVersionKind) -> CustomVersion:
        """The version that defines a kind. Raises SimkitError if there is none."""
        try:
            return self._versions[gvk]
        except KeyError:
            raise SimkitError(f"no definition makes {gvk}") from None


_SAME: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_MAPS: Final[Mapping[str, tuple[str, Callable[[ServedBehaviour, str, Mapping[str, str]], Iterable[FieldError]]]]] = {
    "labels": ("metadata.labels", validate_labels),
    "annotations": ("metadata.annotation", validate_annotations),
}


class ConversionFailed(Exception):
    """Objects that could not be converted; the text is kube-apiserver's."""


def kind_text(obj: Object) -> str:
    """The kind of an object in errors of conversions.

    Examples
    --------
    >>> kind_text({"apiVersion": "example.com/v1", "kind": "Widget"})
    'example.com/v1, Kind=Widget'
    """
    group, version = GroupVersion.parse(obj.get("apiVersion") or "")
    return f"{group}/{version}, Kind={obj.get('kind') or ''}"


def accept_converted(
    behaviour: ServedBehaviour, sent: Sequence[Object], answered: Sequence[Any], api_version: str
) -> list[Object]:
    """The converted objects with the metadata of the originals; only labels and annotations may change.

    Raises
    ------
    ConversionFailed
        For a wrong number of objects, and for one of another version, kind, name, namespace or uid.
    """
    if len(answered) != len(sent):
        about = f"conversion webhook for {kind_text(sent[0])} returned"
        raise ConversionFailed(f"{about} {len(answered)} objects, expected {len(sent)}")
    found: list[Object] = []
    for original, converted in zip(sent, answered):
        about = f"conversion webhook for {kind_text(original)} returned invalid"
        problem = _difference(original, converted, api_version)
        if problem:
            raise ConversionFailed(f"{about} object{problem}")
        try:
            found.append(_restored(behaviour, original, converted))
        except ConversionFailed as error:
            raise ConversionFailed(f"{about} metadata: {error}") from None
    return found


def _difference(original: Object, converted: Any, api_version: str) -> str:
    """The reason why an object does not match the request, with what comes before it; empty if it does."""
    given = str(converted.get("apiVersion") or "")
    if given != api_version:
        return f" at index 0: invalid groupVersion (expected {api_version}, received {given})"
    kinds = original.get("kind"), converted.get("kind") or ""
    if kinds[0] != kinds[1]:
        return f" at index 0: invalid kind (expected {kinds[0]}, received {kinds[1]})"
    noted = converted.get("metadata")
    noted = noted if isinstance(noted, Mapping) else {}
    for name, shown in _SAME:
        wanted, got = metadata(original).get(name) or "", noted.get(name) or ""
        if wanted != got:
            return f": must have the same {shown}: {wanted} != {got}"
    return ""


def _restored(behaviour: ServedBehaviour, original: Object, converted: Mapping[str, Any]) -> Object:
    """The converted object with the metadata of the original, except labels and annotations."""
    if "metadata" not in converted:
        raise ConversionFailed("missing metadata in converted object")
    given = converted["metadata"]
    if not isinstance(given, Mapping):
        raise ConversionFailed(f"invalid metadata of type {_go_type(given)} in converted object")
    kept = {name: value for name, value in metadata(original).items() if name not in _MAPS}
    for name, (path, validate) in _MAPS.items():
        texts = given.get(name)
        if texts is not None:
            _check_texts(name, texts)
            errors = list(validate(behaviour, path, texts)) if texts != (metadata(original).get(name) or {}) else []
            if errors:
                raise ConversionFailed(aggregate_errors(error.told(behaviour) for error in errors))
            kept[name] = dict(texts)
    return {**converted, "metadata": kept}


def _check_texts(name: str, texts: Any) -> None:
    if not isinstance(texts, Mapping):
        raise ConversionFailed(f"invalid metadata.{name} of type {_go_type(texts)} in converted object")
    for key, value in texts.items():
        if not isinstance(value, str):
            text = f"metadata.{name}[{key}] must be a string, but is {_go_type(value)} in converted object"
            raise ConversionFailed(text)


def _go_type(value: Any) -> str:
    """The type of a decoded JSON value as Go names it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, Mapping):
        return "map[string]interface {}"
    names = {int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return next(name for kind, name in names.items() if isinstance(value, kind))
