"""Secrets without their values; the keys remain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from simkit.meta.domain import LAST_APPLIED
from simkit.meta.objects import Object, annotations_of, with_metadata

_VALUES: Final = ("data", "stringData")


def is_secret(obj: Object) -> bool:
    """True if the object is a Secret of the core group, in any version."""
    return obj.get("kind") == "Secret" and "/" not in (obj.get("apiVersion") or "")


def withheld(secret: Object) -> Object:
    """The secret with every value emptied, in its fields and in the copy in its annotations.

    Examples
    --------
    >>> withheld({"kind": "Secret", "metadata": {"name": "db"}, "data": {"password": "aHVudGVyMg=="}})["data"]
    {'password': ''}
    """
    annotations = annotations_of(secret)
    if LAST_APPLIED in annotations:
        kept = {**annotations, LAST_APPLIED: _without_values(annotations[LAST_APPLIED])}
        secret = with_metadata(secret, annotations={name: text for name, text in kept.items() if text is not None})
    return _emptied(secret)


def _emptied(secret: Object) -> dict[str, Any]:
    return {name: _blank(value) if name in _VALUES else value for name, value in secret.items()}


def _blank(values: Any) -> Any:
    return dict.fromkeys(values, "") if isinstance(values, Mapping) else None


def _without_values(applied: Any) -> str | None:
    """The annotation with its values emptied; None if it cannot be parsed."""
    try:
        value = orjson.loads(applied)
    except (orjson.JSONDecodeError, TypeError):
        return None
    return orjson.dumps(_emptied(value)).decode() + "\n" if isinstance(value, dict) else None
