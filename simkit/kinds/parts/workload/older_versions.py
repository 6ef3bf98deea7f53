"""Strategies of the first versions of workloads: orphaned dependents, mutable selectors.

Upstream: pkg/registry/apps/deployment/strategy.go, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from simkit.kinds.strategy import DeleteStrategy, Strategy
from simkit.meta.fielderror import FieldError
from simkit.meta.objects import Object

FIRST: Final = "extensions/v1beta1"
_STAY: Final = DeleteStrategy(orphans_by_default=True)


def keeping_dependents(rules: Strategy, *versions: str) -> Mapping[str, Strategy]:
    """The strategies of versions in which a delete orphans dependents by default."""
    return dict.fromkeys(versions, replace(rules, delete_strategy=_STAY))


def changing_selectors(rules: Strategy, *versions: str) -> Mapping[str, Strategy]:
    """The strategies of versions in which, moreover, the selector of an object may change."""

    def validate(obj: Object, old: Object | None) -> Sequence[FieldError]:
        return rules.validate(obj, _selecting(old, obj) if old is not None else None)

    def validate_last(obj: Object, old: Object) -> Sequence[FieldError]:
        return rules.validate_last(obj, _selecting(old, obj))

    return keeping_dependents(replace(rules, validate=validate, validate_last=validate_last), *versions)


def _selecting(old: Object, obj: Object) -> Object:
    """The stored object with the selector of the new one."""
    return {**old, "spec": {**(old.get("spec") or {}), "selector": obj["spec"].get("selector")}}
