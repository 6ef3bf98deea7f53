"""StorageVersionMigration: all objects of a resource are stored anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.rules import KindRules
from simkit.meta.objects import Object, at, name_of


def _row(obj: Object, now: float) -> Sequence[Any]:
    resource = at(obj, "spec", "resource") or {}
    parts = (resource.get(name) for name in ("resource", "version", "group"))
    return [name_of(obj), ".".join(filter(None, parts))]


RULES = KindRules(row=_row)
