"""Validation of volume mounts and block devices of containers.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from simkit.kinds.parts.validation.fields import DESCENDING, NO_BACKSTEPS
from simkit.kinds.rules import placed
from simkit.meta.behaviour import ServedBehaviour
from simkit.meta.fielderror import FieldError, forbidden_field, invalid_value, missing, required, unsupported
from simkit.meta.objects import Object, at

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_TAKEN: Final = "must be unique"


def validate_volume_mounts(
    behaviour: ServedBehaviour, path: str, container: Object, volumes: Mapping[str, Object]
) -> Iterator[FieldError]:
    """The errors of the ``volumeMounts`` of a container."""
    devices = container.get("volumeDevices") or ()
    device_names = {one.get("name") for one in devices}
    device_paths = {one.get("devicePath") for one in devices}
    taken: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        here = f"{path}[{index}]"
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield required(f"{here}.name")
        if name not in volumes:
            yield missing(f"{here}.name", name)
        if not place:
            yield required(f"{here}.mountPath")
        if place in taken:
            yield invalid_value(f"{here}.mountPath", place, _TAKEN)
        taken.add(place)
        if name in device_names:
            yield invalid_value(f"{here}.name", name, "must not already exist in volumeDevices")
        if place in device_paths:
            yield invalid_value(f"{here}.mountPath", place, "must not already exist as a path in volumeDevices")
        yield from _validate_inner(behaviour, path, here, mount)
        yield from _validate_propagation(f"{path}.mountPropagation", mount.get("mountPropagation"), container)
        yield from _validate_recursive(f"{path}.recursiveReadOnly", mount)


def _validate_recursive(path: str, mount: Object) -> Iterator[FieldError]:
    mode = mount.get("recursiveReadOnly")
    if mode in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield forbidden_field(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            yield forbidden_field(path, "may only be specified when mountPropagation is None or not specified")
    elif mode not in (None, "Disabled"):
        yield unsupported(path, mode, ("Disabled", "Enabled", "IfPossible"))


def _validate_inner(behaviour: ServedBehaviour, path: str, here: str, mount: Object) -> Iterator[FieldError]:
    """The errors of the path inside the volume. kube-apiserver names these fields without the index."""
    inner, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    if inner:
        yield from placed(f"{path}.subPath", DESCENDING(behaviour, inner))
    if expression:
        if inner:
            text = "subPathExpr and subPath are mutually exclusive"
            yield invalid_value(f"{here}.subPathExpr", expression, text)
        yield from placed(f"{path}.subPathExpr", DESCENDING(behaviour, expression))


def _validate_propagation(path: str, propagation: str | None, container: Object) -> Iterator[FieldError]:
    if propagation is None:
        return
    if propagation not in _PROPAGATIONS:
        yield unsupported(path, propagation, _PROPAGATIONS)
    if propagation == "Bidirectional" and not at(container, "securityContext", "privileged"):
        yield forbidden_field(path, "Bidirectional mount propagation is available only to privileged containers")


def validate_volume_devices(
    behaviour: ServedBehaviour, path: str, container: Object, volumes: Mapping[str, Object]
) -> Iterator[FieldError]:
    """The errors of the ``volumeDevices`` of a container."""
    mounts = container.get("volumeMounts") or ()
    mount_names, mount_paths = {one.get("name") for one in mounts}, {one.get("mountPath") for one in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        here = f"{path}[{index}]"
        name, place = device.get("name") or "", device.get("devicePath") or ""
        yield from _validate_device_name(f"{here}.name", name, names, volumes)
        yield from _validate_device_path(behaviour, f"{here}.devicePath", place, paths)
        if name in mount_names:
            yield invalid_value(f"{here}.name", name, "must not already exist in volumeMounts")
        if place in mount_paths:
            yield invalid_value(f"{here}.devicePath", place, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _validate_device_name(path: str, name: str, taken: set[str], volumes: Mapping[str, Object]) -> Iterator[FieldError]:
    if not name:
        yield required(path)
    if name in taken:
        yield invalid_value(path, name, _TAKEN)
    if name not in volumes:
        yield missing(path, name)
    elif not volumes[name].keys() & {"persistentVolumeClaim", "ephemeral"}:
        text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield invalid_value(path, name, text)


def _validate_device_path(behaviour: ServedBehaviour, path: str, place: str, taken: set[str]) -> Iterator[FieldError]:
    if not place:
        yield required(path)
    if place in taken:
        yield invalid_value(path, place, _TAKEN)
    if NO_BACKSTEPS(behaviour, place):
        yield invalid_value(path, place, "can not contain backsteps ('..')")
    else:
        taken.add(place)
