"""Objects that webhooks return: typed, with defaults, in the version that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simkit.engine.pipeline.request_scope import RequestScope
from simkit.engine.pipeline.verbs.request_object import default
from simkit.meta.errors import internal
from simkit.meta.objects import Draft, metadata
from simkit.schema.decoding import DecodeError, decode


def stored_form(scope: RequestScope, value: Mapping[str, Any]) -> Draft:
    """An object in the version of a resource as the stored form. Raises the 500 StatusError for one that is none.

    Owners of fields stay as they are: who may write them was found out before.
    """
    if value.get("kind") != scope.resource.kind or value.get("apiVersion") != scope.resource.api_version:
        shown = f"{value.get('apiVersion')}, Kind={value.get('kind')}"
        raise internal(f"expected {scope.resource.gvk}, got {shown}")
    try:
        draft: Draft = dict(decode(value, scope.schema).object)
    except DecodeError as error:
        raise internal(str(error)) from None
    kind = {"kind": scope.resource.kind, "apiVersion": scope.resource.api_version}
    kept = {name: metadata(value)[name] for name in ("managedFields",) if name in metadata(value)}
    draft = {**kind, **draft, "metadata": {**(draft.get("metadata") or {}), **kept}}
    return scope.to_storage(default(scope, draft))
