"""Validation of field, resource and key references in environment variables and files.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from simkit.kinds.parts.validation.config_keys import validate_key
from simkit.meta.fielderror import FieldError, invalid_value, required, unsupported
from simkit.meta.name_validation import dns_subdomain, qualified_name
from simkit.meta.objects import Object
from simkit.meta.quantity import parse

ENVIRONMENT_FIELDS: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FILE_FIELDS: Final = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_KNOWN: Final = frozenset(
    (*ENVIRONMENT_FIELDS, *FILE_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase")
)
_RESOURCES: Final = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE: Final = ("limits.hugepages-", "requests.hugepages-")
_UNITS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    ".cpu": ("cpu", ("1m", "1")),
    ".memory": ("memory", _UNITS),
    ".ephemeral-storage": ("local ephemeral storage", _UNITS),
    ".hugepages-": ("hugepages", _UNITS),
}


def validate_field(path: str, reference: Object, fields: Sequence[str]) -> Iterator[FieldError]:
    """The errors of a reference to a field of the pod, which must be among the allowed ones."""
    version, field = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version:
        yield required(f"{path}.apiVersion")
    elif not field:
        yield required(f"{path}.fieldPath")
    else:
        subscript = _subscript(field)
        wrong = _unknown(version, field, subscript[0] if subscript else "")
        if wrong:
            yield invalid_value(f"{path}.fieldPath", field, f"error converting fieldPath: {wrong}")
        elif subscript:
            key = subscript[1].lower() if subscript[0] == "metadata.annotations" else subscript[1]
            yield from (invalid_value(path, key, text) for text in qualified_name(key))
        else:
            field = "spec.nodeName" if field == "spec.host" else field
            if field not in fields:
                yield unsupported(f"{path}.fieldPath", field, fields)


def _unknown(version: str, field: str, subscripted: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted:
        allowed = subscripted in ("metadata.annotations", "metadata.labels")
        return "" if allowed else f"field label does not support subscript: {field}"
    return "" if field in _KNOWN or field == "spec.host" else f"field label not supported: {field}"


def validate_resource(path: str, reference: Object, *, in_volume: bool) -> Iterator[FieldError]:
    """The errors of a reference to a resource of a container."""
    resource = reference.get("resource") or ""
    if in_volume and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE):
        yield unsupported(f"{path}.resource", resource, _RESOURCES)
    yield from _validate_divisor(f"{path}.divisor", resource, str(reference.get("divisor") or "0"))


def _validate_divisor(path: str, resource: str, divisor: str) -> Iterator[FieldError]:
    amount = parse(divisor).nano
    found = next((row for ending, row in _DIVISORS.items() if ending in resource), None)
    if not amount or found is None:
        return
    name, units = found
    if all(parse(unit).nano != amount for unit in units):
        listed = " and ".join(units) if len(units) == 2 else ", ".join(units)
        yield invalid_value(path, resource, f"only divisor's values {listed} are supported with the {name} resource")


def validate_key_reference(path: str, reference: Object) -> Iterator[FieldError]:
    """The errors of a reference to a key of a config map or secret."""
    name = reference.get("name") or ""
    yield from (invalid_value(f"{path}.name", name, text) for text in dns_subdomain(name))
    if not reference.get("key"):
        yield required(f"{path}.key")
    else:
        yield from validate_key(f"{path}.key", reference["key"])


def _subscript(field: str) -> tuple[str, str] | None:
    """The path and the key of a text such as ``metadata.labels['a']``."""
    path, mark, rest = field.partition("['")
    return (path, rest[:-2]) if mark and rest.endswith("']") else None
