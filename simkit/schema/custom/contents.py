"""Checks of values that the schema checks leave out: sets, keyed lists, and objects inside of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import orjson

from simkit.meta.fielderror import FieldError, duplicate, invalid_value, required
from simkit.meta.format import dns1035_label, dns_label, label_value, path_segment, qualified_name
from simkit.schema.custom.wording import shown
from simkit.schema.structural import Schema

Path = str


def child(path: Path, name: str) -> Path:
    return f"{path}.{name}" if path else name


def _walk(
    value: Any, schema: Schema, path: Path, visit: Callable[[Any, Schema, Path], Iterator[FieldError]]
) -> Iterator[FieldError]:
    """What a visitor says of every level of a value that its schema describes."""
    yield from visit(value, schema, path)
    if isinstance(value, Mapping):
        for name, item in value.items():
            node = schema.fields.get(name)
            if node is not None and not node.name:
                yield from _walk(item, node, child(path, name), visit)
            elif node is None and schema.values is not None:
                yield from _walk(item, schema.values, f"{path}[{name}]", visit)
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield from _walk(item, schema.items, f"{path}[{index}]", visit)


def repeated(value: Any, schema: Schema) -> list[FieldError]:
    """Elements that a set or a keyed list has twice."""
    return list(_walk(value, schema, "", _repeated))


def _repeated(value: Any, schema: Schema, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, list) or schema.list_type not in ("set", "map"):
        return
    seen: set[bytes] = set()
    for index, item in enumerate(value):
        told = item
        if schema.list_type == "map":
            if not isinstance(item, Mapping):
                continue
            told = {name: item[name] for name in schema.list_map_keys if name in item}
        key = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
        if key in seen:
            yield duplicate(f"{path}[{index}]", shown(told))
        seen.add(key)


def embedded(value: Any, schema: Schema, *, itself: bool = False) -> list[FieldError]:
    """What is wrong with kind, apiVersion and metadata of objects inside of an object; and with ``itself``, its own."""

    def visit(part: Any, node: Schema, path: Path) -> Iterator[FieldError]:
        return _embedded(part, node, path) if path or itself else iter(())

    return list(_walk(value, schema, "", visit))


def _embedded(value: Any, schema: Schema, path: Path) -> Iterator[FieldError]:
    if not schema.embedded or not isinstance(value, Mapping):
        return
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield required(child(path, name))
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
        if wrong := dns1035_label(text.lower()):
            yield invalid_value(path, text, f"may have mixed case, but should otherwise match: {','.join(wrong)}")
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
    for field, faults in _NAMED.items():
        text = metadata.get(field)
        if isinstance(text, str) and text:
            yield from (invalid_value(child(path, field), text, wrong) for wrong in faults(text))
    for field in ("labels", "annotations"):
        entries = metadata.get(field)
        for key, text in (entries if isinstance(entries, Mapping) else {}).items():
            spelled = key if field == "labels" else key.lower()
            yield from (invalid_value(child(path, field), key, wrong) for wrong in qualified_name(spelled))
            if field == "labels" and isinstance(text, str):
                yield from (invalid_value(child(path, field), text, wrong) for wrong in label_value(text))
