"""Validation of kind, apiVersion and metadata of objects embedded in custom resources.

Follows ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from simkit.kinds.parts.validation.object_meta import validate_finalizers, validate_object_meta
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.name_validation import dns_label, kind_name, path_segment
from simkit.schema.custom.listtype import Path, child, walk
from simkit.schema.custom.messages import shown
from simkit.schema.structural import Schema


def embedded(value: Any, schema: Schema, *, itself: bool = False) -> list[FieldError]:
    """The errors of kind, apiVersion and metadata of embedded objects; with ``itself``, of the object too."""

    def visit(part: Any, node: Schema, path: Path) -> Iterator[FieldError]:
        return _embedded(part, node, path) if path or itself else iter(())

    return list(walk(value, schema, "", visit))


def _embedded(value: Any, schema: Schema, path: Path) -> Iterator[FieldError]:
    if not schema.embedded or not isinstance(value, Mapping):
        return
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield required(child(path, name), "" if applies("embedded-names-required") else "must not be empty")
        elif not isinstance(value[name], str):
            yield invalid_value(child(path, name), shown(value[name]), "must be a string")
        elif not value[name]:
            yield invalid_value(child(path, name), "", "must not be empty")
        else:
            yield from _named_wrong(name, value[name], child(path, name))
    if "metadata" in value:
        yield from _metadata(value["metadata"], child(path, "metadata"))


def _named_wrong(name: str, text: str, path: Path) -> Iterator[FieldError]:
    if name == "kind":
        if wrong := kind_name(text):
            yield invalid_value(path, text, wrong)
    elif text.count("/") > 1:
        yield invalid_value(path, text, f"unexpected GroupVersion string: {text}")


_NAMED: Final[Mapping[str, Callable[[str], Sequence[str]]]] = {
    "generateName": partial(path_segment, prefix=True),
    "name": path_segment,
    "namespace": dns_label,
}


def _metadata(metadata: Any, path: Path) -> Iterator[FieldError]:
    if not isinstance(metadata, Mapping):
        yield invalid_value(path, shown(metadata), "must be an object")
        return
    for field, errors in _NAMED.items():
        text = metadata.get(field)
        if isinstance(text, str) and text:
            yield from (invalid_value(child(path, field), text, wrong) for wrong in errors(text))
    typed = _typed(metadata)
    yield from validate_object_meta(typed, path)
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
