"""Responses: objects, lists, tables and documents as bytes in the negotiated representation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from simkit.engine.pipeline.representation import bodies
from simkit.engine.pipeline.representation.negotiation import JSON, PROTOBUF, YAML, MediaTypeOptions
from simkit.engine.pipeline.request_scope import RequestScope
from simkit.kinds.apiextensions.customresource import column_definitions
from simkit.meta import go_json
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import META_GROUP
from simkit.meta.errors import StatusError, bad_request, not_acceptable, unexplained
from simkit.meta.fielderror import quoted
from simkit.meta.message import Request, Response, StoredResponse
from simkit.meta.names import GroupVersionResource
from simkit.meta.objects import Object
from simkit.schema.decode_pass import internal_package
from simkit.schema.openapi.column_descriptions import column_description
from simkit.schema.resources import Resource
from simkit.schema.table_columns import Column, columns_of
from simkit.seams import Entry

# The Table form: columns of the kind, a row for each object

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
    if scope.resource.kind == "Scale" and not scope.catalogue.behaviour.applies("scales-in-tables"):
        cells = default_row
    definitions = _definitions(scope, cells is not default_row) if columns else None
    if scope.strategy.row_sort_key is not None:
        objects = sorted(objects, key=scope.strategy.row_sort_key)
    conditions = scope.strategy.print_row_conditions
    rows = [
        {
            "cells": list(cells(scope.behaviour, told, now)),
            **_conditions(conditions(told)),
            **_carried(scope, obj, api_version, include),
        }
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
    if resource == "serviceaccounts" and scope.catalogue.behaviour.applies("no-secrets-column"):
        defined = [column for column in defined if column.name != "Secrets"]
    if resource == "resourcequotas" and scope.catalogue.behaviour.applies("age-of-quotas-last"):
        defined = sorted(defined, key=lambda column: column.name == "Age")
    if resource in _VOLUMES and not scope.catalogue.behaviour.applies("classes-of-volumes-shown"):
        defined = [column for column in defined if column.name != "VolumeAttributesClass"]
    if resource == "cronjobs" and not scope.catalogue.behaviour.applies("zones-of-cron-jobs-shown"):
        defined = [column for column in defined if column.name != "Timezone"]
    if resource == "priorityclasses" and scope.catalogue.behaviour.applies("preemption-policy-column"):
        defined = [*defined, Column("PreemptionPolicy", "string", "", 0)]
    return [column.definition(column_description(resource, column.name)) for column in defined]


def _columns(resource: Resource) -> Sequence[Column]:
    """The columns of the resource; versions unknown to 1.30 have those of their stored version."""
    stored = resource.storage_gvk
    return columns_of(resource.gvr) or columns_of(GroupVersionResource(stored.group, stored.version, resource.resource))


def default_row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
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


# Responses: objects, lists and documents as bytes in the negotiated representation.
# Upstream: k8s.io/apiserver/pkg/endpoints/handlers/response.go, release 1.30.


def as_yaml(obj: Any) -> bytes:
    """An object as YAML with sorted keys."""
    from simkit.language.yaml.block_style import encode  # most servers never write YAML

    return encode(obj)


_YES: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
"""The values of the parameter ``pretty`` that turn it on."""


def wants_pretty(request: Request, media_type: MediaTypeOptions) -> bool:
    """True if the answer is to be indented: asked for, or a browser or curl asks and does not say."""
    if media_type.pretty:
        return True
    asked = request.option("pretty") if request.query else ""
    if asked:
        return asked in _YES
    return request.header("user-agent").startswith(("curl", "Wget", "Mozilla/5.0"))


def document_response(obj: Mapping[str, Any], media_type: MediaTypeOptions, *, status: int = 200) -> Response:
    """The response with an object that is not stored: a Status, a review, a discovery document."""
    if media_type.media == YAML:
        return Response(status, as_yaml(obj), YAML)
    if media_type.media == PROTOBUF:
        return Response(status, bodies.encode(obj), PROTOBUF)
    return Response(status, go_json.encode(obj) + b"\n")


def made_response(scope: RequestScope, made: Mapping[str, Any], media_type: MediaTypeOptions) -> Response:
    """The response with an object that is made and not stored, such as a review. Raises 406 if it is to be a list."""
    if media_type.transform == "PartialObjectMetadata":
        made = partial(scope, made, media_type.version)
    elif media_type.transform:
        raise _unfit(scope, media_type, str(made["kind"]), "not a list")
    return document_response(made, media_type, status=201)


def object_response(
    scope: RequestScope, entry: Entry, media_type: MediaTypeOptions, *, status: int = 200, now: float = 0
) -> Response:
    """The response with one stored object."""
    if not media_type.transform and media_type.media == JSON:
        tail = scope.tails([entry])[0] if scope.calls_out else scope.kept_tail(entry)
        return Response(status, scope.head + tail + b"\n")
    return document_response(single_object(scope, entry, media_type, now), media_type, status=status)


def unencoded_response(scope: RequestScope, entry: Entry, status: int) -> Response:
    """The response with one stored object to a caller in this process, who may not want its JSON."""
    return StoredResponse(
        status, lambda: scope.from_storage(entry.object), lambda: scope.head + scope.kept_tail(entry) + b"\n"
    )


def single_object(scope: RequestScope, entry: Entry, media_type: MediaTypeOptions, now: float) -> Mapping[str, Any]:
    """One stored object in the requested kind."""
    obj = scope.from_storage(entry.object)
    if media_type.transform == "Table":
        version = entry.object["metadata"].get("resourceVersion")
        return as_table(scope, [obj], media_type, {"resourceVersion": version} if version else {}, now)
    if media_type.transform == "PartialObjectMetadata":
        return partial(scope, obj, media_type.version)
    if media_type.transform and scope.custom is not None:  # inside of kube-apiserver one might be a list
        raise unexplained("content is not a list")
    if media_type.transform:
        raise _unfit(scope, media_type, f"{scope.resource.kind}", "not a list")
    return obj


def as_table(
    scope: RequestScope,
    objects: Sequence[Object],
    media_type: MediaTypeOptions,
    metadata: Mapping[str, Any],
    now: float,
    *,
    columns: bool = True,
) -> dict[str, Any]:
    """The Table of some objects. Raises 400 for an unknown ``includeObject``."""
    check_include(media_type)
    return of(
        scope, objects, now, version=media_type.version, metadata=metadata, include=media_type.include, columns=columns
    )


def check_include(media_type: MediaTypeOptions) -> None:
    """Raise the 400 of an unknown ``includeObject``."""
    if media_type.include not in ("", "Metadata", "Object", "None"):
        raise bad_request(
            f"Unable to convert to Table as requested: includeObject: Invalid value: {quoted(media_type.include)}: "
            "must be 'Metadata', 'Object', 'None', or empty"
        )


def _unfit(scope: RequestScope, media_type: MediaTypeOptions, kind: str, what: str) -> StatusError:
    """406 for a transformation that is for lists only, or not for lists."""
    shown = (
        "*unstructured.Unstructured"
        if scope.custom is not None
        else f"*{internal_package(scope.resource.storage.group)}.{kind}"
    )
    if scope.custom is not None and what == "a list":
        shown += "List"
    return not_acceptable(f"you requested {media_type.transform}, but the requested object is {what} ({shown})")


def partial(scope: RequestScope, obj: Object, version: str) -> dict[str, Any]:
    """The object's metadata alone, in a version of that form."""
    metadata = scope.ordered_metadata(obj)
    return {"kind": "PartialObjectMetadata", "apiVersion": f"{META_GROUP}/{version}", "metadata": metadata}


def list_response(
    scope: RequestScope,
    entries: Sequence[Entry],
    metadata: Mapping[str, Any],
    media_type: MediaTypeOptions,
    *,
    now: float = 0,
) -> Response:
    """The response with a list of stored objects."""
    if scope.custom is not None and not media_type.transform:
        metadata = {"continue": "", **metadata}
    if not media_type.transform and media_type.media == JSON:
        return Response(200, scope.encode_list(scope.tails(entries), metadata))
    objects = scope.all_from_storage(entries)
    if media_type.transform == "Table":
        return document_response(as_table(scope, objects, media_type, metadata, now), media_type)
    if media_type.transform == "PartialObjectMetadataList":
        items = [partial(scope, obj, media_type.version) for obj in objects]
        head = {"kind": "PartialObjectMetadataList", "apiVersion": f"{META_GROUP}/{media_type.version}"}
        return document_response({**head, "metadata": metadata, "items": items or None}, media_type)
    if media_type.transform:
        raise _unfit(scope, media_type, scope.resource.list_gvk.kind, "a list")
    kind = scope.resource.list_gvk
    stripped = objects if scope.resource.custom else [without_kind(obj) for obj in objects]
    return document_response(
        {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, "items": stripped}, media_type
    )


def without_kind(obj: Object) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}
