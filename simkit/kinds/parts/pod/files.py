"""Volumes that are made of files: secrets, config maps, fields of the pod, and all of these together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from simkit.kinds.parts.pod.paths import file_faults, mode_faults
from simkit.kinds.parts.pod.references import FILE_FIELDS, field_faults, resource_faults
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required
from simkit.meta.objects import Object

_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 1 << 32
_TAKEN: Final = "conflicting duplicate paths"


def secret_faults(path: str, source: Object) -> Iterator[FieldError]:
    """What is wrong with a volume of a secret's data."""
    if not source.get("secretName"):
        yield required(f"{path}.secretName")
    yield from _keyed_faults(path, source)


def config_map_faults(path: str, source: Object) -> Iterator[FieldError]:
    """What is wrong with a volume of a config map's data."""
    if not source.get("name"):
        yield required(f"{path}.name")
    yield from _keyed_faults(path, source)


def _keyed_faults(path: str, source: Object) -> Iterator[FieldError]:
    yield from mode_faults(f"{path}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(source.get("items") or ()):
        yield from _item_faults(f"{path}.items[{index}]", item)


def _item_faults(path: str, item: Object) -> Iterator[FieldError]:
    if not item.get("key"):
        yield required(f"{path}.key")
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from file_faults(f"{path}.path", item.get("path") or "")
    yield from mode_faults(f"{path}.mode", item.get("mode"))


def downward_faults(path: str, source: Object) -> Iterator[FieldError]:
    """What is wrong with a volume of the pod's own fields."""
    yield from mode_faults(f"{path}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        yield from _field_file_faults(path, item)


def _field_file_faults(path: str, item: Object) -> Iterator[FieldError]:
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from file_faults(f"{path}.path", item.get("path") or "")
    if item.get("fieldRef") is not None:
        yield from field_faults(f"{path}.fieldRef", item["fieldRef"], FILE_FIELDS)
        if item.get("resourceFieldRef") is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid_value(path, "resource", text)
    elif item.get("resourceFieldRef") is not None:
        yield from resource_faults(f"{path}.resourceFieldRef", item["resourceFieldRef"], in_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from mode_faults(f"{path}.mode", item.get("mode"))


def projected_faults(path: str, source: Object) -> Iterator[FieldError]:
    """What is wrong with a volume that brings several sources together; no two files may have one path."""
    yield from mode_faults(f"{path}.defaultMode", source.get("defaultMode"))
    taken: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        yield from _part_faults(path, f"{path}.sources[{index}]", part, taken)


Part = Callable[[str, str, Object, set[str]], Iterator[FieldError]]


def _part_faults(path: str, at: str, part: Object, taken: set[str]) -> Iterator[FieldError]:
    present = [(name, check) for name, check in _PARTS if part.get(name) is not None]
    for name, check in present:
        yield from check(path, f"{at}.{name}", part[name], taken)
    if len(present) > 1:
        yield forbidden_field(at, "may not specify more than 1 volume type per source")


def _keyed_part(path: str, at: str, part: Object, taken: set[str]) -> Iterator[FieldError]:
    name = part.get("name") or ""
    if not name:
        yield required(f"{at}.name")
    for index, item in enumerate(part.get("items") or ()):
        yield from _item_faults(f"{at}.items[{index}]", item)
        yield from _taken_faults(path, name, item.get("path") or "", taken)


def _taken_faults(path: str, shown: str, file: str, taken: set[str]) -> Iterator[FieldError]:
    if file in taken:
        yield invalid_value(path, shown, _TAKEN)
    elif file:
        taken.add(file)


def _downward_part(path: str, at: str, part: Object, taken: set[str]) -> Iterator[FieldError]:
    for item in part.get("items") or ():
        yield from _field_file_faults(at, item)
        file = item.get("path") or ""
        yield from _taken_faults(path, file, file, taken)


def _token_part(path: str, at: str, part: Object, taken: set[str]) -> Iterator[FieldError]:
    seconds = part.get("expirationSeconds") or 0
    if seconds < _SHORTEST_TOKEN:
        yield invalid_value(f"{at}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN:
        yield invalid_value(f"{at}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    if not part.get("path"):
        yield required(f"{path}.path")
    else:
        yield from file_faults(f"{path}.path", part["path"])


_PARTS: Final[tuple[tuple[str, Part], ...]] = (
    ("secret", _keyed_part),
    ("configMap", _keyed_part),
    ("downwardAPI", _downward_part),
    ("serviceAccountToken", _token_part),
)
