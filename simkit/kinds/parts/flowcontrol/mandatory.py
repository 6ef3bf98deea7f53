"""Specs of the mandatory flow schemas and priority levels, which cannot be changed.

Follows ``k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from simkit.kinds.parts.flowcontrol.suggested import flow_objects
from simkit.meta.behaviour import served_minor
from simkit.meta.objects import Object, name_of

_FIXED = ("exempt", "catch-all")


def mandatory_spec(kind: str, name: str) -> Object | None:
    """The spec that an object of this kind and name must have; None if it may have any."""
    return _specs(kind, served_minor()).get(name)


@cache
def _specs(kind: str, minor: int) -> Mapping[str, Object]:
    return {name_of(obj): obj["spec"] for obj in flow_objects(minor) if obj["kind"] == kind and name_of(obj) in _FIXED}


def same(one: Any, other: Any) -> bool:
    """True if two values are equal; empty values equal absent ones.

    Examples
    --------
    >>> same({"a": [{"b": 1}], "c": None}, {"a": [{"b": 1, "d": []}]})
    True
    """
    return bool(_bare(one) == _bare(other))


def _bare(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: bare for key, each in value.items() if (bare := _bare(each)) not in (None, [], {})}
    return [_bare(each) for each in value] if isinstance(value, list | tuple) else value
