"""Validation of a pod against its operating system.

Follows ``pkg/apis/core/validation/validation.go``, release 1.30.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from simkit.meta.behaviour import applies
from simkit.meta.fielderror import CLUSTER_POLICY, FieldError, forbidden_field, invalid_value, required, unsupported
from simkit.meta.objects import Object, at
from simkit.meta.podspec import CONTAINER_LISTS

_OF_POD: Final = (
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "hostUsers",
    "hostPID",
    "hostIPC",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "shareProcessNamespace",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)
_OF_CONTAINER: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def every_container(path: str, spec: Object) -> Iterator[tuple[str, Object]]:
    """All containers of a pod spec with their paths, in the order of their start."""
    for name in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(name) or ()):
            yield f"{path}.{name}[{index}]", container


def validate_operating_system(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of the operating system of a pod, and of fields that it excludes."""
    system = (spec.get("os") or {}).get("name") or ""
    if not system:
        yield required(f"{path}.os.name", "" if applies("required-without-detail") else "cannot be empty")
    elif system not in ("linux", "windows"):
        yield unsupported(f"{path}.os", system, ("linux", "windows"))
    elif system == "linux":
        yield from _validate_linux(path, spec)
    else:
        yield from _validate_windows(path, spec)


def _validate_linux(path: str, spec: Object) -> Iterator[FieldError]:
    text = "windows options cannot be set for a linux pod"
    for place, holder in ((path, spec), *every_container(path, spec)):
        if at(holder, "securityContext", "windowsOptions") is not None:
            yield forbidden_field(f"{place}.securityContext.windowsOptions", text)


def _validate_windows(path: str, spec: Object) -> Iterator[FieldError]:
    text = "cannot be set for a windows pod"
    for name in _OF_POD:
        value = at(spec, *name.split("."))
        if value not in (None, [], False) or (value is False and name == "shareProcessNamespace"):
            yield forbidden_field(f"{path}.{name}", text)
    for place, container in every_container(path, spec):
        for name in _OF_CONTAINER:
            if at(container, "securityContext", name) is not None:
                yield forbidden_field(f"{place}.securityContext.{name}", text)


def validate_host_process(path: str, spec: Object) -> Iterator[FieldError]:
    """The errors of HostProcess containers: all must be, or none."""
    of_pod = at(spec, "securityContext", "windowsOptions", "hostProcess")
    count = hosted = 0
    for place, container in every_container(path, spec):
        own = at(container, "securityContext", "windowsOptions", "hostProcess")
        count += 1
        where = f"{place}.securityContext.windowsOptions.hostProcess"
        if own is not None and of_pod is not None and own is not of_pod:
            shown = "true" if of_pod else "false"
            text = f"pod hostProcess value must be identical if both are specified, was {shown}"
            yield invalid_value(where, own, text)
        hosted += bool(of_pod if own is None else own)
    if not hosted:
        return
    if hosted != count:
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid_value(path, "", text)
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid_value(f"{path}.hostNetwork", False, text)
    yield forbidden_field(path, f"hostProcess containers are {CLUSTER_POLICY}")
