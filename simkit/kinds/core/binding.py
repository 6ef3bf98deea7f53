"""Strategy of Binding: validation of the target node.

Follows ``pkg/registry/core/pod/storage/storage.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator

from simkit.kinds.strategy import Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, required, unsupported
from simkit.meta.objects import Object


def _validate(behaviour: ServedBehaviour, obj: Object, old: Object | None) -> Iterator[FieldError]:
    target = obj.get("target") or {}
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        yield unsupported("target.kind", kind, ("Node", "<empty>"))
    if not target.get("name"):
        yield required("target.name")


STRATEGY = Strategy(validate=_validate)
