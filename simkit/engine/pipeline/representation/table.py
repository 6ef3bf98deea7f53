"""The Table form: columns of the kind, a row for each object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.engine.pipeline.request_scope import RequestScope
from simkit.kinds.apiextensions.customresource import column_definitions
from simkit.meta.behaviour import applies
from simkit.meta.domain import META_GROUP
from simkit.meta.names import GroupVersionResource
from simkit.meta.objects import Object
from simkit.schema.openapi.column_descriptions import column_description
from simkit.schema.resources import Resource
from simkit.schema.table_columns import Column, columns_of

DEFAULT: tuple[Column, ...] = (Column("Name", "string", "name", 0), Column("Created At", "date", "", 0))


def of(
    scope: RequestScope,
    objects: Sequence[Object],
    now: float,
    *,
    version: str = "v1",
    metadata: Mapping[str, Any] | None = None,
    include: str = "",
    columns: bool = True,
) -> dict[str, Any]:
    """The Table of some objects. ``include`` is None, Metadata (the default) or Object: the content of each row's
    object.

    Cells of built-in kinds tell of what is stored: they are the same in all versions.
    """
    api_version = f"{META_GROUP}/{version}"
    row = scope.strategy.print_row
    cells = row if row is not None else default_row
    if scope.resource.kind == "Scale" and not applies("scales-in-tables"):
        cells = default_row
    definitions = _definitions(scope, cells is not default_row) if columns else None
    if scope.strategy.row_sort_key is not None:
        objects = sorted(objects, key=scope.strategy.row_sort_key)
    conditions = scope.strategy.print_row_conditions
    rows = [
        {"cells": list(cells(told, now)), **_conditions(conditions(told)), **_carried(scope, obj, api_version, include)}
        for obj, told in zip(objects, map(scope.as_stored, objects), strict=True)
    ]
    return {
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": dict(metadata or {}),
        "columnDefinitions": definitions,
        "rows": rows,
    }


_VOLUMES: Final = ("persistentvolumes", "persistentvolumeclaims")


def _definitions(scope: RequestScope, own: bool) -> list[dict[str, Any]]:
    if scope.custom is not None:
        return column_definitions(scope.custom)
    defined, resource = (
        _columns(scope.resource) if own else DEFAULT,
        scope.resource.resource,
    )
    if resource == "serviceaccounts" and applies("no-secrets-column"):
        defined = [column for column in defined if column.name != "Secrets"]
    if resource == "resourcequotas" and applies("age-of-quotas-last"):
        defined = sorted(defined, key=lambda column: column.name == "Age")
    if resource in _VOLUMES and not applies("classes-of-volumes-shown"):
        defined = [column for column in defined if column.name != "VolumeAttributesClass"]
    if resource == "cronjobs" and not applies("zones-of-cron-jobs-shown"):
        defined = [column for column in defined if column.name != "Timezone"]
    if resource == "priorityclasses" and applies("preemption-policy-column"):
        defined = [*defined, Column("PreemptionPolicy", "string", "", 0)]
    return [column.definition(column_description(resource, column.name)) for column in defined]


def _columns(resource: Resource) -> Sequence[Column]:
    """The columns of the resource; versions unknown to 1.30 have those of their stored version."""
    stored = resource.storage_gvk
    return columns_of(resource.gvr) or columns_of(GroupVersionResource(stored.group, stored.version, resource.resource))


def default_row(obj: Object, now: float) -> Sequence[Any]:
    """Name and creation time."""
    metadata = obj["metadata"]
    return [metadata.get("name", ""), metadata.get("creationTimestamp")]


def _conditions(conditions: Sequence[Object]) -> dict[str, Any]:
    return {"conditions": list(conditions)} if conditions else {}


def _carried(scope: RequestScope, obj: Object, api_version: str, include: str) -> dict[str, Any]:
    if include == "None":
        return {"object": None}
    if include == "Object":
        return {"object": scope.ordered(obj)}
    metadata = scope.ordered_metadata(obj)
    return {"object": {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": metadata}}
