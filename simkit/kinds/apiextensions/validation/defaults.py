"""Validation of the defaults in a schema: each must be valid under its own schema.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.validation.object_meta import validate_finalizers, validate_object_meta
from simkit.language.cel.errors import OBJECT_BUDGET
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import Errors, FieldError, aggregate_errors, invalid_value, required
from simkit.meta.name_validation import dns_label, kind_name, path_segment
from simkit.meta.wording import Text, Worded
from simkit.schema.custom.messages import NOWHERE, shown
from simkit.schema.custom.structural import Path, child, row_of, walk
from simkit.schema.custom.validation import ABSENT, Check
from simkit.schema.structural import Resolver, Schema


def embedded(behaviour: ServedBehaviour, value: Any, schema: Schema, *, itself: bool = False) -> list[FieldError]:
    """The errors of kind, apiVersion and metadata of embedded objects; with ``itself``, of the object too."""

    def visit(part: Any, node: Schema, path: Path) -> Errors:
        return _embedded(behaviour, part, node, path) if path or itself else iter(())

    return list(walk(value, schema, "", visit))


def _embedded(behaviour: ServedBehaviour, value: Any, schema: Schema, path: Path) -> Errors:
    if not schema.embedded or not isinstance(value, Mapping):
        return
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield required(child(path, name), Worded("embedded-names-required", "", "must not be empty"))
        elif not isinstance(value[name], str):
            yield invalid_value(child(path, name), shown(value[name]), "must be a string")
        elif not value[name]:
            yield invalid_value(child(path, name), "", "must not be empty")
        else:
            yield from _named_wrong(name, value[name], child(path, name))
    if "metadata" in value:
        yield from _metadata(behaviour, value["metadata"], child(path, "metadata"))


def _named_wrong(name: str, text: str, path: Path) -> Errors:
    if name == "kind":
        if wrong := kind_name(text):
            yield invalid_value(path, text, wrong)
    elif text.count("/") > 1:
        yield invalid_value(path, text, f"unexpected GroupVersion string: {text}")


_NAMED: Final[Mapping[str, Callable[[str], Sequence[Text]]]] = {
    "generateName": partial(path_segment, prefix=True),
    "name": path_segment,
    "namespace": dns_label,
}


def _metadata(behaviour: ServedBehaviour, metadata: Any, path: Path) -> Errors:
    if not isinstance(metadata, Mapping):
        yield invalid_value(path, shown(metadata), "must be an object")
        return
    for field, errors in _NAMED.items():
        text = metadata.get(field)
        if isinstance(text, str) and text:
            yield from (invalid_value(child(path, field), text, wrong) for wrong in errors(text))
    typed = _typed(metadata)
    yield from validate_object_meta(behaviour, typed, path)
    yield from validate_finalizers(typed, path)


_LISTS: Final = {"ownerReferences": Mapping, "finalizers": str}


def _typed(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with the right type; other errors are reported elsewhere."""
    out: dict[str, Any] = {}
    for name in ("labels", "annotations"):
        entries = metadata.get(name)
        if isinstance(entries, Mapping):
            out[name] = {key: text for key, text in entries.items() if isinstance(text, str)}
    for name, kind in _LISTS.items():
        listed = metadata.get(name)
        if isinstance(listed, list):
            out[name] = [each for each in listed if isinstance(each, kind)]
    return out


Properties = Mapping[str, Any]
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_HEADER: Final = {"kind": "Validation", "apiVersion": "validation/v1"}


def validate_default(
    behaviour: ServedBehaviour, schema: Properties, path: str, resolve: Resolver, *, pruned: bool
) -> list[FieldError]:
    """The errors of defaults, except those of map values. ``pruned``: they may not have unknown fields."""
    root = {**schema, _EMBEDDED: True}
    return list(_Defaults(behaviour, resolve, pruned).level(_Level(root, path, root)))


@dataclass(frozen=True, slots=True)
class _Level:
    """One level of a schema: its place in the nearest embedded object around it."""

    schema: Properties
    path: str
    outer: Properties
    steps: tuple[str | int, ...] = ()
    in_metadata: bool = False
    """True if it belongs to the kind, the apiVersion or the metadata of that object."""

    def below(self) -> Iterator[_Level]:
        items = self.schema.get("items")
        if isinstance(items, Mapping):
            yield replace(self, schema=items, path=f"{self.path}.items", steps=(*self.steps, 0))
        fields = self.schema.get("properties") or {}
        for name in sorted(fields):
            own = self.schema is self.outer and name in ("metadata", "apiVersion", "kind")
            yield replace(
                self,
                schema=fields[name],
                path=f"{self.path}.properties[{name}]",
                steps=(*self.steps, name),
                in_metadata=self.in_metadata or own,
            )

    def object_around(self, value: Any) -> Mapping[str, Any]:
        """An object with only a value at this place."""
        for step in reversed(self.steps):
            value = [value] if isinstance(step, int) else {step: value}
        return {**value, **_HEADER}


class _Defaults:
    """A walk over a schema with a common cost limit of the rules on its defaults."""

    def __init__(self, behaviour: ServedBehaviour, resolve: Resolver, pruned: bool) -> None:
        self._behaviour = behaviour
        self._resolve, self._pruned, self._budget = resolve, pruned, OBJECT_BUDGET

    def level(self, level: _Level) -> Errors:
        schema = level.schema
        if schema.get(_EMBEDDED):
            level = replace(level, outer=schema, steps=(), in_metadata=False)
        if schema.get("default") is not None:
            yield from self._one(schema["default"], level)
        for below in level.below():
            if self._budget < 0:
                return
            yield from self.level(below)

    def _one(self, value: Any, level: _Level) -> Errors:
        from simkit.kinds.apiextensions.cel_validation import CelValidator, has_rules

        path, node = f"{level.path}.default", self._node(level.schema)
        if level.in_metadata:
            errors = self._metadata(value, level, path)
        else:
            if self._pruned and has_unknown(value, node):
                yield invalid_value(path, shown(value), "must not have unknown fields")
            errors = _under(path, embedded(self._behaviour, value, node, itself=True))
        errors = errors or Check(self._behaviour, level.schema, all_formats=True).errors(value, under=path)
        yield from errors
        if not errors and has_rules(node):
            rules = CelValidator(self._behaviour, node, root=level.schema is level.outer)
            found, left = rules.refusals(value, value, self._budget)
            if not found:
                found, alone = rules.refusals(value, ABSENT, self._budget)
                left = min(left, alone)
            self._budget = left
            yield from _under(path, found)

    def _node(self, schema: Properties) -> Schema:
        return Schema(row_of(schema), self._resolve)

    def _metadata(self, value: Any, level: _Level, path: str) -> list[FieldError]:
        wrong = embedded(self._behaviour, level.object_around(value), self._node(level.outer), itself=True)
        told = aggregate_errors(error.told(self._behaviour) for error in wrong)
        return [invalid_value(path, shown(value), f"must result in valid metadata: {told}")] if told else []


def _under(path: str, errors: list[FieldError]) -> list[FieldError]:
    return [FieldError(each.kind, _joined(path, each.field), each.value, each.detail) for each in errors]


def _joined(path: str, inner: str) -> str:
    if inner == NOWHERE:
        return path
    return f"{path}{inner}" if inner.startswith("[") else f"{path}.{inner}"


def has_unknown(value: Any, node: Schema | None) -> bool:
    """True if a value has fields that would be pruned."""
    if node is not None and node.name:
        return False
    if isinstance(value, Mapping):
        return any(_unknown_field(name, item, node) for name, item in value.items())
    if isinstance(value, list):
        items = node.items if node is not None else None
        if items is None and node is not None and node.preserve_unknown:
            return False
        return any(has_unknown(item, items) for item in value)
    return False


def _unknown_field(name: str, item: Any, node: Schema | None) -> bool:
    below = node.field(name) if node is not None else None
    if below is not None:
        return has_unknown(item, below)
    return node is None or not node.preserve_unknown


def unpruned_defaults(schema: Properties, resolve: Resolver) -> bool:
    """True if a default of a schema has unknown fields, as in old definitions."""
    value = schema.get("default")
    if value is not None and has_unknown(value, Schema(row_of(schema), resolve)):
        return True
    items = schema.get("items")
    below = [items] if isinstance(items, Mapping) else []
    return any(unpruned_defaults(inner, resolve) for inner in (*below, *(schema.get("properties") or {}).values()))
