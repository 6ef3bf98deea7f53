"""Synchronization of AppArmor annotations and fields of new pods.

Follows ``pkg/registry/core/pod/strategy.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.kinds.parts.pod.validation.annotations import APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD
from simkit.kinds.parts.pod.validation.security_context import APP_ARMOR as APP_ARMOR_RULES
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.objects import Draft, Object, annotations_of, at, metadata
from simkit.meta.podspec import CONTAINER_LISTS


def bring_together(behaviour: ServedBehaviour, pod: Draft) -> None:
    """Write each container's profile as field and annotation; the pod's own metadata and spec are changed."""
    spec: Draft = pod["spec"]
    of_pod = at(spec, "securityContext", "appArmorProfile")
    has_notes = any(key.startswith(APP_ARMOR) for key in annotations_of(pod))
    if at(spec, "os", "name") == "windows" or not (has_notes or of_pod or _has_fields(spec)):
        return
    notes = dict(annotations_of(pod))
    for name in CONTAINER_LISTS:
        if spec.get(name):
            spec[name] = [_agreed(behaviour, one, notes, of_pod) for one in spec[name]]
    if notes:
        pod["metadata"]["annotations"] = notes


def _has_fields(spec: Object) -> bool:
    lists = (spec.get(name) or () for name in CONTAINER_LISTS)
    return any(at(one, "securityContext", "appArmorProfile") is not None for each in lists for one in each)


def _agreed(behaviour: ServedBehaviour, container: Object, notes: dict[str, str], of_pod: Object | None) -> Object:
    key = APP_ARMOR + (container.get("name") or "")
    own = at(container, "securityContext", "appArmorProfile")
    if key not in notes:
        text = as_annotation(own or of_pod) if behaviour.applies("app-armor-fields-written-as-notes") else ""
        if text:
            notes[key] = text
    elif own is None:
        field = as_field(notes[key])
        if field is not None and field != of_pod and not APP_ARMOR_RULES(behaviour, field):
            return {
                **container,
                "securityContext": {**(container.get("securityContext") or {}), "appArmorProfile": field},
            }
    return container


def as_annotation(profile: Object | None, *, of_seccomp: bool = False) -> str:
    """A profile as an annotation says it; empty if it is none that an annotation can say.

    Examples
    --------
    >>> as_annotation({"type": "Localhost", "localhostProfile": "audit.json"})
    'localhost/audit.json'
    """
    kind, local = (profile or {}).get("type"), (profile or {}).get("localhostProfile")
    if kind != "Localhost":
        return _NOTES.get(kind or "", "")
    return f"{_LOCAL}{local}" if local or (of_seccomp and local is not None) else ""


def as_field(annotation: str) -> Mapping[str, Any] | None:
    """The profile in an annotation; None if it is invalid."""
    if annotation.startswith(_LOCAL):
        local = annotation.removeprefix(_LOCAL)
        return {"type": "Localhost", "localhostProfile": local} if local else None
    return next(({"type": kind} for kind, note in _NOTES.items() if note == annotation), None)


_LOCAL: Final = "localhost/"
_NOTES: Final = {"RuntimeDefault": "runtime/default", "Unconfined": "unconfined"}
_DOCKER: Final = "docker/default"
"""Another name of the default seccomp profile."""


def annotation_warnings(behaviour: ServedBehaviour, pod: Object) -> Iterator[str]:
    """The warning about annotations that the client wrote instead of fields."""
    notes, spec = annotations_of(pod), pod.get("spec") or {}
    if not any(key.startswith(APP_ARMOR) for key in notes) or not behaviour.applies("app-armor-fields"):
        return
    of_pod = at(spec, "securityContext", "appArmorProfile")
    for name in CONTAINER_LISTS:
        for container in spec.get(name) or ():
            key = APP_ARMOR + (container.get("name") or "")
            if key not in notes:
                continue
            own, meant = at(container, "securityContext", "appArmorProfile"), as_field(notes[key])
            if meant is None or (own == meant and meant != of_pod and not _was_written(pod, name, container)):
                yield f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def _was_written(pod: Object, name: str, container: Object) -> bool:
    """True if a client wrote the field: only then has it an owner."""
    item = f'k:{{"name":"{container.get("name")}"}}'
    path = ("fieldsV1", "f:spec", f"f:{name}", item, "f:securityContext", "f:appArmorProfile")
    return any(at(record, *path) is not None for record in metadata(pod).get("managedFields") or ())


def bring_seccomp_together(pod: Draft, *, noted: bool) -> None:
    """Write the profiles that annotations have as fields, and if they are to be noted the others as annotations.

    The pod's own parts are changed.
    """
    spec: Draft = pod["spec"]
    notes = dict(annotations_of(pod))
    pod["spec"] = spec = {**spec, **_seccomp_agreed(spec, notes, SECCOMP_POD)}
    for name in CONTAINER_LISTS:
        if spec.get(name):
            keys = (SECCOMP_CONTAINER + (one.get("name") or "") for one in spec[name])
            spec[name] = [
                {**one, **_seccomp_agreed(one, notes, key)} for one, key in zip(spec[name], keys, strict=True)
            ]
    if noted and notes != annotations_of(pod):
        pod["metadata"]["annotations"] = notes


def _seccomp_agreed(holder: Object, notes: dict[str, str], key: str) -> Mapping[str, Any]:
    """The security context of a pod spec or container, where it gets a profile; ``notes`` may get one too."""
    context = holder.get("securityContext") or {}
    profile = context.get("seccompProfile")
    if profile is not None and key not in notes:
        text = as_annotation(profile, of_seccomp=True)
        if text:
            notes[key] = text
    elif profile is None and key in notes:
        field = as_field(notes[key].replace(_DOCKER, _NOTES["RuntimeDefault"]))
        if field is not None:
            return {"securityContext": {**context, "seccompProfile": field}}
    return {}
