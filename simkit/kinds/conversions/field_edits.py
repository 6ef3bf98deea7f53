"""Small edits of drafts for conversions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simkit.meta.objects import Draft


def rename(part: Draft, old: str, new: str) -> None:
    """Move a value, if there is one, to another key of the same mapping."""
    if old in part:
        part[new] = part.pop(old)


def section(part: Draft, *names: str) -> Draft:
    """The mapping at a path, created if it is missing."""
    for name in names:
        inner = part.get(name)
        if not isinstance(inner, dict):
            inner = part[name] = {}
        part = inner
    return part


def peek(part: Mapping[str, Any], *names: str) -> Draft:
    """The mapping at a path, or an empty one outside of the draft."""
    for name in names:
        found = part.get(name)
        if not isinstance(found, dict):
            return {}
        part = found
    return part  # type: ignore[return-value]


def entries(part: Mapping[str, Any], name: str) -> Iterator[Draft]:
    """The mappings in a list under a key."""
    for entry in part.get(name) or ():
        if isinstance(entry, dict):
            yield entry


def annotate(draft: Draft, key: str, value: str) -> None:
    section(draft, "metadata", "annotations")[key] = value


def take_annotation(draft: Draft, key: str) -> str | None:
    """The value of an annotation, which is removed, together with an empty annotations map."""
    annotations = peek(draft, "metadata", "annotations")
    if key not in annotations:
        return None
    value: str = annotations.pop(key)
    if not annotations:
        del draft["metadata"]["annotations"]
    return value


def pick(part: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The existing values of some names, in that order."""
    return {name: part[name] for name in names if part.get(name) is not None}


def default(part: Draft, name: str, value: Any) -> None:
    """Set a value that is missing, null or empty."""
    if part.get(name) in (None, ""):
        part[name] = value
