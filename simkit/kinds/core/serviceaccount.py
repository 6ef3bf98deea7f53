"""Strategy of ServiceAccount: preparation and printer columns.

Follows ``pkg/registry/core/serviceaccount/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simkit.kinds.parts.copy_on_write import without_empty
from simkit.kinds.parts.printers.cells import created
from simkit.kinds.strategy import Strategy
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Draft, Object, name_of


def _prepare(behaviour: ServedBehaviour, draft: Draft, old: Object | None) -> None:
    """Keep only the names of secret references."""
    without_empty(draft, ("secrets", "imagePullSecrets"))
    if "secrets" in draft:
        draft["secrets"] = [{"name": each["name"]} if each.get("name") else {} for each in draft["secrets"]]


def _row(behaviour: ServedBehaviour, obj: Object, now: float) -> Sequence[Any]:
    secrets = () if behaviour.applies("no-secrets-column") else (len(obj.get("secrets") or ()),)
    return [name_of(obj), *secrets, created(obj, now)]


STRATEGY = Strategy(prepare=_prepare, print_row=_row, return_deleted_object=True)
