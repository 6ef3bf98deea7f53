"""Validation of secret, config map, downward API and projected volumes.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from simkit.kinds.parts.pod.validation.paths import validate_file, validate_mode
from simkit.kinds.parts.pod.validation.references import FILE_FIELDS, validate_field, validate_resource
from simkit.meta.behaviour import applies
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, required
from simkit.meta.objects import Object

_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 1 << 32
_TAKEN: Final = "conflicting duplicate paths"


def validate_secret(path: str, source: Object) -> Iterator[FieldError]:
    """The errors of a volume of a secret's data."""
    if not source.get("secretName"):
        yield required(f"{path}.secretName")
    yield from _validate_keyed(path, source)


def validate_config_map(path: str, source: Object) -> Iterator[FieldError]:
    """The errors of a volume of a config map's data."""
    if not source.get("name"):
        yield required(f"{path}.name")
    yield from _validate_keyed(path, source)


def _validate_keyed(path: str, source: Object) -> Iterator[FieldError]:
    yield from validate_mode(f"{path}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(source.get("items") or ()):
        yield from _validate_item(f"{path}.items[{index}]", item)


def _validate_item(path: str, item: Object) -> Iterator[FieldError]:
    if not item.get("key"):
        yield required(f"{path}.key")
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from validate_file(f"{path}.path", item.get("path") or "")
    yield from validate_mode(f"{path}.mode", item.get("mode"))


def validate_downward(path: str, source: Object) -> Iterator[FieldError]:
    """The errors of a downward API volume."""
    yield from validate_mode(f"{path}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        yield from _validate_field_file(path, item)


def _validate_field_file(path: str, item: Object) -> Iterator[FieldError]:
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from validate_file(f"{path}.path", item.get("path") or "")
    if item.get("fieldRef") is not None:
        yield from validate_field(f"{path}.fieldRef", item["fieldRef"], FILE_FIELDS)
        if item.get("resourceFieldRef") is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid_value(path, "resource", text)
    elif item.get("resourceFieldRef") is not None:
        yield from validate_resource(f"{path}.resourceFieldRef", item["resourceFieldRef"], in_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from validate_mode(f"{path}.mode", item.get("mode"))


def validate_projected(path: str, source: Object) -> Iterator[FieldError]:
    """The errors of a projected volume; no two files may have the same path."""
    yield from validate_mode(f"{path}.defaultMode", source.get("defaultMode"))
    taken: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        yield from _validate_part(path, f"{path}.sources[{index}]", part, taken)


Part = Callable[[str, str, Object, set[str]], Iterator[FieldError]]


def _validate_part(path: str, at: str, part: Object, taken: set[str]) -> Iterator[FieldError]:
    present = [(name, check) for name, check in _PARTS if part.get(name) is not None]
    for name, check in present:
        yield from check(path, f"{at}.{name}", part[name], taken)
    if len(present) > 1:
        of_one = " per source" if applies("projected-source-error-names-source") else ""
        yield forbidden_field(at, f"may not specify more than 1 volume type{of_one}")


def _keyed_part(path: str, at: str, part: Object, taken: set[str]) -> Iterator[FieldError]:
    name = part.get("name") or ""
    if not name:
        yield required(f"{at}.name")
    for index, item in enumerate(part.get("items") or ()):
        yield from _validate_item(f"{at}.items[{index}]", item)
        yield from _validate_taken(path, name, item.get("path") or "", taken)


def _validate_taken(path: str, shown: str, file: str, taken: set[str]) -> Iterator[FieldError]:
    if file in taken:
        yield invalid_value(path, shown, _TAKEN)
    elif file:
        taken.add(file)


def _downward_part(path: str, at: str, part: Object, taken: set[str]) -> Iterator[FieldError]:
    for item in part.get("items") or ():
        yield from _validate_field_file(at, item)
        file = item.get("path") or ""
        yield from _validate_taken(path, file, file, taken)


def _token_part(path: str, at: str, part: Object, taken: set[str]) -> Iterator[FieldError]:
    seconds = part.get("expirationSeconds") or 0
    if seconds < _SHORTEST_TOKEN:
        yield invalid_value(f"{at}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN:
        yield invalid_value(f"{at}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    if not part.get("path"):
        yield required(f"{path}.path")
    elif applies("local-token-paths"):
        yield from validate_file(f"{path}.path", part["path"])


_PARTS: Final[tuple[tuple[str, Part], ...]] = (
    ("secret", _keyed_part),
    ("configMap", _keyed_part),
    ("downwardAPI", _downward_part),
    ("serviceAccountToken", _token_part),
)
