"""Bodies of custom objects: they say themselves what they are, and nothing is assumed where they do not."""

from __future__ import annotations

from typing import Any

from simkit.engine.pipeline import bodies
from simkit.kinds.apiextensions.definition import CustomVersion, Provider
from simkit.meta.errors import StatusError, bad_request, invalid
from simkit.meta.fielderror import invalid_value
from simkit.meta.names import GroupKind, GroupVersion, GroupVersionKind
from simkit.meta.objects import name_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.structural import Schema


def custom_version(catalogue: Catalogue, gvk: GroupVersionKind) -> CustomVersion | None:
    """The version that defines a custom kind, None for built-in kinds."""
    provider = catalogue.provider(gvk)
    return provider.version(gvk) if isinstance(provider, Provider) else None


def check_header(custom: CustomVersion, value: Any, body: bytes) -> None:
    """Raises 400 for a body that does not say its kind."""
    kind = custom.definition.kind
    fault = bodies.header_fault(value)
    if fault:
        raise bodies.unrecognized(kind, fault, body)
    if not (value or {}).get("kind"):
        raise bodies.unrecognized(kind, f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'", body)
    given = value.get("apiVersion") or ""
    if given.count("/") > 1:
        raise bodies.unrecognized(kind, f"unexpected GroupVersion string: {given}", body)


def body_schema(custom: CustomVersion, value: Any) -> Schema:
    """The schema of the version that a body is written in; one that knows no field where there is no such version."""
    group, _ = GroupVersion.parse(value.get("apiVersion") or "")
    other = custom.definition.version_of(value) if group == custom.definition.group else None
    return other.schema if other is not None else Schema({"type": "object"}, custom.definition.resolve)


def check_kind(custom: CustomVersion, value: Any) -> None:
    """Raises 400 for a body of another version than the path's, 422 for one of another kind."""
    given, definition = value.get("apiVersion") or "", custom.definition
    if given != custom.api_version:
        raise bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({custom.api_version})"
        )
    if value["kind"] != definition.kind:
        raise other_kind(custom, value)


def other_kind(custom: CustomVersion, value: Any) -> StatusError:
    """422 of a body of another kind."""
    kind = value["kind"]
    fault = invalid_value("kind", kind, f"must be {custom.definition.kind}")
    return invalid(GroupKind(custom.definition.group, kind), name_of(value), [fault])
