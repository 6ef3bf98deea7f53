"""Shared parts of groups of pods and workloads: the policy by which pods are scheduled, fields that never change.

Follows the markers of ``k8s.io/api/scheduling/v1alpha2/types.go``, release 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.kinds.parts.validation.fields import FIXED
from simkit.meta.fielderror import FieldError, invalid_value, required
from simkit.meta.objects import Object

POLICIES: Final = ("basic", "gang")


def validate_one_of(path: str, value: Object, *names: str) -> Iterator[FieldError]:
    """The error of a value that has none or several of some fields, of which it must have one."""
    given = [name for name in names if value.get(name) is not None]
    listed = ", ".join(f"`{name}`" for name in names)
    if not given:
        yield invalid_value(path, "", f"must specify one of: {listed}")
    elif len(given) > 1:
        yield invalid_value(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {listed}")


def validate_policy(path: str, policy: Object) -> Iterator[FieldError]:
    """The errors of a policy for the pods of a group."""
    yield from validate_one_of(path, policy, *POLICIES)
    gang = policy.get("gang")
    count = 1 if gang is None else gang.get("minCount") or 0
    if not count:
        yield required(f"{path}.gang.minCount")
    elif count < 1:
        yield invalid_value(f"{path}.gang.minCount", count, "must be greater than or equal to 1")


def validate_fixed(spec: Object, before: Object, *names: str) -> Iterator[FieldError]:
    """The errors of changed fields of a specification; the new value is not shown."""
    for name in names:
        if (spec.get(name) or None) != (before.get(name) or None):
            yield invalid_value(f"spec.{name}", None, FIXED)
