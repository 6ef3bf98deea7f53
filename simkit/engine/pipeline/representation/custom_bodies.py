"""Bodies of custom objects, which must have kind and apiVersion themselves.

Upstream: k8s.io/apiserver/pkg/endpoints/handlers/create.go, k8s.io/apiserver/pkg/endpoints/handlers/update.go and
k8s.io/apimachinery/pkg/runtime/error.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simkit.engine.pipeline.representation import bodies
from simkit.kinds.apiextensions.definition import CustomVersion, Provider
from simkit.meta.errors import bad_request, internal, invalid
from simkit.meta.fielderror import invalid_value
from simkit.meta.names import GroupKind, GroupVersion, GroupVersionKind
from simkit.meta.objects import name_of
from simkit.schema.catalogue import Catalogue
from simkit.schema.structural import Schema


def custom_version(catalogue: Catalogue, gvk: GroupVersionKind) -> CustomVersion | None:
    """The version that defines a custom kind; None for built-in kinds."""
    provider = catalogue.provider(gvk)
    return provider.version(gvk) if isinstance(provider, Provider) else None


def check_header(custom: CustomVersion, value: Any, body: bytes) -> None:
    """Raises 400 for a body without a kind."""
    error = header_error(value, lambda: body)
    if error:
        raise bodies.unrecognized(custom.definition.kind, error, body)


def header_error(value: Any, text: Callable[[], bytes]) -> str:
    """The reason why a value has no valid kind, or the empty string; ``text`` gives its text if needed."""
    error = bodies.header_error(value)
    if error:
        return error
    if not (value or {}).get("kind"):
        return f"Object 'Kind' is missing in '{text().decode('utf-8', 'replace')}'"
    return ""


def body_schema(custom: CustomVersion, value: Any) -> Schema:
    """The schema of a body's version; an empty one if the version does not exist."""
    group, _ = GroupVersion.parse(value.get("apiVersion") or "")
    other = custom.definition.version_of(value) if group == custom.definition.group else None
    return other.schema if other is not None else Schema({"type": "object"}, custom.definition.resolve)


def check_kind(custom: CustomVersion, value: Any) -> None:
    """Raises 400 for a body of another version than the path's, 422 for one of another kind."""
    given = value.get("apiVersion") or ""
    if given != custom.api_version:
        raise bad_request(
            f"the API version in the data ({given}) does not match the expected API version ({custom.api_version})"
        )
    check_same(custom, value)


def check_patched(custom: CustomVersion, patched: Any, *, whole: bool) -> None:
    """Raises 500 for a patched object without version, 422 for a whole one that became another kind or version."""
    if not patched.get("apiVersion"):
        raise internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    if whole:
        check_same(custom, patched)


def check_same(custom: CustomVersion, value: Any) -> None:
    """Raises 422 for an object of another kind or version."""
    wanted = {"kind": custom.definition.kind, "apiVersion": custom.api_version}
    given = {name: value.get(name) or "" for name in wanted}
    errors = [
        invalid_value(name, given[name], f"must be {word}") for name, word in wanted.items() if given[name] != word
    ]
    if errors:
        group, _ = GroupVersion.parse(given["apiVersion"])
        raise invalid(GroupKind(group, given["kind"]), name_of(value), errors)
