"""Volumes of the contents of images, where the feature is off: they go, and their mounts with them.

Follows ``pkg/api/pod/util.go``, release 1.36.
"""

from __future__ import annotations

from typing import Any

from simkit.meta.behaviour import applies
from simkit.meta.objects import Draft, Object
from simkit.meta.podspec import CONTAINER_LISTS

_MOUNTS = "volumeMounts"


def without_image_volumes(spec: Object, old: Object) -> Object:
    """The spec of a pod without such volumes, the very same where it may have them, as where the old one has some."""
    names = _names(spec)
    if not names or applies("image-volumes") or _names(old):
        return spec
    made = _less(dict(spec), "volumes", names)
    for key in CONTAINER_LISTS:
        if made.get(key):
            made[key] = [_less(dict(one), _MOUNTS, names) for one in made[key]]
    return made


def _names(spec: Object) -> set[Any]:
    return {one.get("name") for one in spec.get("volumes") or () if one.get("image") is not None}


def _less(holder: Draft, key: str, names: set[Any]) -> Draft:
    """A holder without the entries of a list that have these names."""
    kept = [one for one in holder.get(key) or () if one.get("name") not in names]
    if kept:
        holder[key] = kept
    else:
        holder.pop(key, None)
    return holder
