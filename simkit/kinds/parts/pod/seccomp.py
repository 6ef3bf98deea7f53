"""Synchronization of seccomp annotations and fields of new pods, in releases up to 1.26.

Follows ``pkg/registry/core/pod/strategy.go`` (``applySeccompVersionSkew``), release 1.26.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from simkit.kinds.parts.pod.validation.annotations import SECCOMP_CONTAINER, SECCOMP_POD
from simkit.meta.objects import Draft, Object, annotations_of
from simkit.meta.podspec import CONTAINER_LISTS

_LOCAL: Final = "localhost/"


def bring_seccomp_together(pod: Draft, *, noted: bool) -> None:
    """Write the profiles that annotations have as fields, and if they are to be noted the others as annotations.

    The pod's own parts are changed.
    """
    spec: Draft = pod["spec"]
    notes = dict(annotations_of(pod))
    pod["spec"] = spec = {**spec, **_agreed(spec, notes, SECCOMP_POD)}
    for name in CONTAINER_LISTS:
        if spec.get(name):
            keys = (SECCOMP_CONTAINER + (one.get("name") or "") for one in spec[name])
            spec[name] = [{**one, **_agreed(one, notes, key)} for one, key in zip(spec[name], keys, strict=True)]
    if noted and notes != annotations_of(pod):
        pod["metadata"]["annotations"] = notes


def _agreed(holder: Object, notes: dict[str, str], key: str) -> Mapping[str, Any]:
    """The security context of a pod spec or container, where it gets a profile; ``notes`` may get one too."""
    context = holder.get("securityContext") or {}
    profile = context.get("seccompProfile")
    if profile is not None and key not in notes:
        text = seccomp_as_annotation(profile)
        if text:
            notes[key] = text
    elif profile is None and key in notes:
        field = _as_field(notes[key])
        if field is not None:
            return {"securityContext": {**context, "seccompProfile": field}}
    return {}


def seccomp_as_annotation(profile: Object | None) -> str:
    """A seccomp profile as the annotation says it; empty if it is none that an annotation can say.

    Examples
    --------
    >>> seccomp_as_annotation({"type": "Localhost", "localhostProfile": "audit.json"})
    'localhost/audit.json'
    """
    kind = (profile or {}).get("type")
    if kind == "Localhost":
        local = (profile or {}).get("localhostProfile")
        return "" if local is None else f"{_LOCAL}{local}"
    return {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default"}.get(kind or "", "")


def _as_field(annotation: str) -> Mapping[str, Any] | None:
    if annotation.startswith(_LOCAL):
        local = annotation.removeprefix(_LOCAL)
        return {"type": "Localhost", "localhostProfile": local} if local else None
    named = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault", "docker/default": "RuntimeDefault"}
    return {"type": named[annotation]} if annotation in named else None
