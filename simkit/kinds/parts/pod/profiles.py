"""Profiles of AppArmor and seccomp in annotations of pods: their names, and their agreement with the fields.

Follows ``pkg/registry/core/pod/strategy.go`` and ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from simkit.kinds.parts.pod.validation.security_context import APP_ARMOR as APP_ARMOR_RULES
from simkit.kinds.parts.pod.validation.security_context import every_container
from simkit.kinds.parts.validation.fields import DESCENDING
from simkit.kinds.rules import placed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.domain import MIRROR_POD, label
from simkit.meta.fielderror import Errors, forbidden_field, invalid_value, quoted
from simkit.meta.integers import parse_int
from simkit.meta.objects import Draft, Object, annotations_of, at, metadata
from simkit.meta.podspec import CONTAINER_LISTS


def bring_together(behaviour: ServedBehaviour, pod: Draft) -> None:
    """Write each container's profile as field and annotation; the pod's own metadata and spec are changed."""
    spec: Draft = pod["spec"]
    of_pod = at(spec, "securityContext", "appArmorProfile")
    noted = any(key.startswith(APP_ARMOR) for key in annotations_of(pod))
    of_containers = (at(one, "securityContext", "appArmorProfile") for _, one in every_container("", spec))
    if at(spec, "os", "name") == "windows" or not (noted or of_pod or any(each is not None for each in of_containers)):
        return
    notes = dict(annotations_of(pod))
    for name in CONTAINER_LISTS:
        if spec.get(name):
            spec[name] = [_agreed(behaviour, one, notes, of_pod) for one in spec[name]]
    if notes:
        pod["metadata"]["annotations"] = notes


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


APP_ARMOR: Final = label("", "container.apparmor.security.beta")
SECCOMP_POD: Final = label("pod", "seccomp.security.alpha")
SECCOMP_CONTAINER: Final = label("", "container.seccomp.security.alpha")
DELETION_COST: Final = label("pod-deletion-cost", "controller")
INIT: Final = tuple(
    label(name, f"pod.{level}")
    for level in ("beta", "alpha")
    for name in ("init-containers", "init-container-statuses")
)
_TYPES: Final = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default", "docker/default")}


def validate_annotation_value(behaviour: ServedBehaviour, path: str, holder: Object, spec: Object) -> Errors:
    """The errors of the values of annotations; ``holder`` is the pod or template of the spec."""
    annotations = annotations_of(holder)
    if not annotations:
        return
    if MIRROR_POD in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid_value(f"{path}[{MIRROR_POD}]", annotations[MIRROR_POD], text)
    cost = annotations.get(DELETION_COST)
    number = None if cost is None else parse_int(cost, bits=32)
    if cost is not None and (number is None or cost != str(number)):
        yield invalid_value(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer")
    for key, profile in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            yield from validate_seccomp_note(behaviour, f"{path}.{key}", profile)
    yield from _validate_app_armor(path, annotations, spec)


def validate_seccomp_note(behaviour: ServedBehaviour, path: str, profile: str) -> Errors:
    """The errors of a seccomp profile in an annotation."""
    if profile.startswith(_LOCAL):
        yield from placed(path, DESCENDING(behaviour, profile.removeprefix(_LOCAL)))
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        yield invalid_value(path, profile, "must be a valid seccomp profile")


def _validate_app_armor(path: str, annotations: Mapping[str, str], spec: Object) -> Errors:
    names = {container.get("name") for _, container in every_container("", spec)}
    for key, profile in annotations.items():
        if not key.startswith(APP_ARMOR):
            continue
        container = key.removeprefix(APP_ARMOR)
        if container not in names:
            yield invalid_value(f"{path}[{key}]", container, "container not found")
        if profile and profile not in ("runtime/default", "unconfined") and not profile.startswith(_LOCAL):
            yield invalid_value(f"{path}[{key}]", profile, f"invalid AppArmor profile name: {quoted(profile)}")


def validate_annotation_change(behaviour: ServedBehaviour, path: str, pod: Object, old: Object) -> Errors:
    """The errors of changed immutable annotations, and the errors of the values once more."""
    values, old_values = annotations_of(pod), annotations_of(old)
    for key, value in old_values.items():
        what = _kept(key)
        if what and values.get(key) != value:
            yield forbidden_field(f"{path}[{key}]", f"may not remove or update {what}")
    for key in values:
        what = _kept(key)
        if what and key not in old_values:
            yield forbidden_field(f"{path}[{key}]", f"may not add {what}")
    yield from validate_annotation_value(behaviour, path, pod, pod.get("spec") or {})


def _kept(key: str) -> str:
    if key.startswith(APP_ARMOR):
        return "AppArmor annotations"
    return "mirror pod annotation" if key == MIRROR_POD else ""


def validate_field_agreement(path: str, holder: Object, spec: Object) -> Errors:
    """The errors of seccomp annotations that differ from the fields."""
    annotations = annotations_of(holder)
    if not annotations:
        return
    pairs = [(f"{path}.securityContext", spec, SECCOMP_POD)]
    pairs += [
        (f"{place}.securityContext", one, SECCOMP_CONTAINER + (one.get("name") or ""))
        for place, one in every_container(path, spec)
    ]
    for place, one, key in pairs:
        profile = at(one, "securityContext", "seccompProfile")
        if profile is not None and key in annotations:
            yield from _disagreement(f"{place}.seccompProfile", "seccomp", profile, annotations[key])


def _disagreement(path: str, what: str, profile: Object, value: str) -> Errors:
    kind = profile.get("type")
    if kind == "Localhost":
        if not value.startswith(_LOCAL):
            yield forbidden_field(f"{path}.type", f"{what} type in annotation and field must match")
        elif value.removeprefix(_LOCAL) != profile.get("localhostProfile"):
            yield forbidden_field(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")
    elif kind in _TYPES and value not in _TYPES[kind][: 1 if what == "apparmor" else None]:
        yield forbidden_field(f"{path}.type", f"{what} type in annotation and field must match")


def validate_app_armor_agreement(path: str, pod: Object, spec: Object) -> Errors:
    """The errors of AppArmor annotations of a new pod or a template that differ from the fields."""
    annotations = annotations_of(pod)
    if not annotations or (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = at(spec, "securityContext", "appArmorProfile")
    for place, container in every_container(path, spec):
        profile = at(container, "securityContext", "appArmorProfile") or of_pod
        key = APP_ARMOR + (container.get("name") or "")
        if profile is not None and key in annotations:
            where = f"{place}.securityContext.appArmorProfile"
            yield from _disagreement(where, "apparmor", profile, annotations[key])


def without_init_annotations(holder: Draft) -> None:
    """Remove annotations in which very old clients wrote init containers."""
    annotations = annotations_of(holder)
    if any(key in annotations for key in INIT):
        kept = {key: value for key, value in annotations.items() if key not in INIT}
        holder["metadata"] = {**holder["metadata"], "annotations": kept}
        if not kept:
            del holder["metadata"]["annotations"]
