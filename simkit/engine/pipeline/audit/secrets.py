"""Removal of secret values from recorded objects: the data of secrets, and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.engine.pipeline.request_info import RequestInfo

WITHHELD: Final = "REDACTED"
_OF_SECRETS: Final = ("data", "stringData")
_HARMLESS: Final = frozenset({"apiVersion", "kind", "metadata", "type", "immutable", "items"})
_OTHER_SHAPES: Final = frozenset(
    {"DeleteOptions", "List", "PartialObjectMetadata", "PartialObjectMetadataList", "SecretList", "Status", "Table"}
)
"""Kinds with secret values in other fields."""
_TOKENS: Final = {"TokenRequest": "status", "TokenReview": "spec"}
_LAST_APPLIED: Final = "last-applied-configuration"


def holds_secrets(info: RequestInfo) -> bool:
    """True if what is sent to, or comes from, a path is secret."""
    if info.resource == "secrets" and not info.group:
        return True
    return info.resource == "tokenreviews" or (info.resource, info.subresource) == ("serviceaccounts", "token")


def scrubbed(value: Any, info: RequestInfo) -> Any:
    """A decoded body without secret values; field names stay."""
    secret = holds_secrets(info)
    if secret and not isinstance(value, Mapping):  # a patch in steps, or nothing that belongs there
        listed = isinstance(value, list) and all(map(_is_step, value))
        return list(map(_patch_step, value)) if listed else WITHHELD
    found = _walked(value, secret=info.resource == "secrets" and not info.group)
    return _without_token(found, *_TOKENS.values()) if secret else found  # whatever kind the body says it is


def message_scrubbed(message: str, info: RequestInfo) -> str:
    """An error message without its quotation of the body."""
    return message.partition(" ({")[0] if holds_secrets(info) else message


def _walked(value: Any, *, secret: bool) -> Any:
    if isinstance(value, list):
        return [_patch_step(item) if secret and _is_step(item) else _walked(item, secret=secret) for item in value]
    if not isinstance(value, Mapping):
        return value
    kind = value.get("kind")
    if kind == "Status" and not secret:
        return value
    secret = secret or kind in ("Secret", "SecretList")
    found = dict(value)
    for name in ("items", "rows", "object"):
        if name in found:
            found[name] = _walked(found[name], secret=secret)
    if secret:
        found = _without_data(found)
    return _without_token(found, _TOKENS[kind]) if kind in _TOKENS else found


def _without_token(obj: Mapping[str, Any], *parts: str) -> dict[str, Any]:
    found = dict(obj)
    for part in parts:
        if isinstance(found.get(part), Mapping) and "token" in found[part]:
            found[part] = {**found[part], "token": WITHHELD}
    return found


def _without_data(obj: dict[str, Any]) -> dict[str, Any]:
    """A secret without values, also in misspelled fields."""
    other = obj.get("kind") in _OTHER_SHAPES or "cells" in obj
    for name in _OF_SECRETS if other else [name for name in obj if name not in _HARMLESS]:
        if isinstance(obj.get(name), Mapping):
            obj[name] = dict.fromkeys(obj[name], WITHHELD)
        elif name in obj and obj[name] is not None:
            obj[name] = WITHHELD
    metadata = obj.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("annotations"), Mapping):
        kept = metadata["annotations"]
        obj["metadata"] = {
            **metadata,
            "annotations": {name: WITHHELD if name.endswith(_LAST_APPLIED) else text for name, text in kept.items()},
        }
    return obj


def _is_step(item: Any) -> bool:
    return isinstance(item, Mapping) and "op" in item


def _patch_step(step: Mapping[str, Any]) -> dict[str, Any]:
    """An operation of a JSON patch of a secret, without its value."""
    return {**step, "value": WITHHELD} if "value" in step else dict(step)
