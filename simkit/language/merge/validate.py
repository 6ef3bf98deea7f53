"""Validation of an applied configuration against its schema: types, known fields, no duplicate elements.

structured-merge-diff v4.4, typed/validate.go.

Upstream: sigs.k8s.io/structured-merge-diff/v4/typed/validate.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simkit.language.merge.fieldset import element_text
from simkit.language.merge.type_def import LIST, SET, BadElement, TypeDef
from simkit.meta.go_fmt import format_value, type_name
from simkit.schema.custom.messages import structure

Complaint = tuple[str, str]
"""A path and the error there."""


def validation_errors(value: Any, type_def: TypeDef) -> str:
    """All errors of an applied configuration, in the words of structured-merge-diff; empty if there are none.

    Examples
    --------
    >>> from simkit.schema.structural import Schema
    >>> from simkit.language.merge.type_def import type_def_of
    >>> from simkit.meta.behaviour import ServedBehaviour
    >>> row = {"type": "object", "fields": {"a": {"type": "string"}}}
    >>> validation_errors({"b": 1}, type_def_of(ServedBehaviour(30), Schema(row, lambda name: Schema({}, None))))
    '.b: field not declared in schema'
    """
    texts = [f"{path}: {wrong}" if path else wrong for path, wrong in _check(value, type_def, "")]
    if len(texts) < 2:
        return "".join(texts)
    return "\n".join(["errors:", *(f"  {text}" for text in texts)])


def _check(value: Any, type_def: TypeDef, path: str) -> Iterator[Complaint]:
    if value is None:
        return
    if type_def.type == "map" or (not type_def.type and isinstance(value, dict)):
        yield from _check_map(value, type_def, path)
    elif type_def.type == "list" or (not type_def.type and isinstance(value, list)):
        yield from _check_list(value, type_def, path)
    else:
        wrong = _wrong_scalar(value, type_def.type)
        if wrong:
            yield path, wrong


def _wrong_scalar(value: Any, wanted: str) -> str:
    if wanted == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{structure(value)}}}"
    if wanted == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"expected numeric (int or float), got {type_name(value)}"
    if wanted == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got {_plain(value)}"
    return ""


def _plain(value: Any) -> str:
    return f"&{{{format_value(value)}}}"


def _check_map(value: Any, type_def: TypeDef, path: str) -> Iterator[Complaint]:
    if not isinstance(value, dict):
        yield path, f"expected map, got {_plain(value)}"
        return
    for name in sorted(value):
        child = type_def.child(name)
        if child is None:
            yield f"{path}.{name}", "field not declared in schema"
            return
        yield from _check(value[name], child, f"{path}.{name}")


def _check_list(value: Any, type_def: TypeDef, path: str) -> Iterator[Complaint]:
    if not isinstance(value, list):
        yield path, f"expected list, got {_plain(value)}"
    elif type_def.kind in (LIST, SET):
        yield from _check_elements(value, type_def, path)
    else:
        for index, item in enumerate(value):
            yield from _check(item, type_def.items, f"{path}[{index}]")


def _check_elements(value: Sequence[Any], type_def: TypeDef, path: str) -> Iterator[Complaint]:
    seen: set[str] = set()
    for index, item in enumerate(value):
        try:
            element = type_def.element(item)
        except BadElement as wrong:
            yield path, f"element {index}: {wrong}"
            return
        if element in seen:
            yield path, f"duplicate entries for key {element_text(element)}"
        seen.add(element)
        yield from _check(item, type_def.items, f"{path}{element_text(element)}")


def tells_elements_apart(value: Any, type_def: TypeDef | None) -> bool:
    """False if a list of a value has two elements that count as one, or one that lacks what tells it from others."""
    if type_def is None:
        return True
    if isinstance(value, dict):
        return all(tells_elements_apart(item, type_def.child(name)) for name, item in value.items())
    if not isinstance(value, list):
        return True
    if type_def.kind in (LIST, SET):
        try:
            elements = {type_def.element(item) for item in value}
        except BadElement:
            return False
        if len(elements) < len(value):
            return False
    return all(tells_elements_apart(item, type_def.items) for item in value)


def metadata_of(applied: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of a configuration of any shape; empty if it has none."""
    given = applied.get("metadata")
    return given if isinstance(given, dict) else {}


def text_of(value: Any) -> str:
    """A string, or the empty string for another value."""
    return value if isinstance(value, str) else ""


def reference_text(applied: Mapping[str, Any], gvk_text: str) -> str:
    """The text by which messages name a configuration: ``namespace/name; group/version, Kind=kind``."""
    named = metadata_of(applied)
    return f"{text_of(named.get('namespace'))}/{text_of(named.get('name'))}; {gvk_text}"
