"""The three lists of containers: what is common to all, and what each list allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from simkit.kinds.parts.addresses import PORT_RANGE
from simkit.kinds.parts.pod.environment import environment_faults, environment_source_faults
from simkit.kinds.parts.pod.mounts import device_faults, mount_faults
from simkit.kinds.parts.pod.probes import lifecycle_faults, probe_faults
from simkit.kinds.parts.pod.resources import resource_faults
from simkit.kinds.parts.pod.security import container_security_faults
from simkit.meta.fielderror import (
    FieldError,
    duplicate,
    forbidden_field,
    invalid_value,
    missing,
    required,
    unsupported,
)
from simkit.meta.format import dns_label, port_name
from simkit.meta.objects import Object

Volumes = Mapping[str, Object]

_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_SIDECARS_ONLY: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_NOT_EPHEMERAL: Final = ("ports", "resources", "restartPolicy", *_PROBES)
_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_WHITESPACE: Final = "must not have leading or trailing whitespace"


def container_faults(path: str, spec: Object, volumes: Volumes) -> Iterator[FieldError]:
    """What is wrong with the containers that run all the time."""
    containers = spec.get("containers") or ()
    if not containers:
        yield required(path)
        return
    names: set[str] = set()
    grace = spec.get("terminationGracePeriodSeconds")
    for index, container in enumerate(containers):
        at, name = f"{path}[{index}]", container.get("name") or ""
        yield from _common_faults(at, container, volumes)
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        yield from lifecycle_faults(f"{at}.lifecycle", container.get("lifecycle"), grace)
        yield from probe_faults(at, container, grace)
        if container.get("restartPolicy") is not None:
            yield forbidden_field(f"{at}.restartPolicy", "may not be set for non-init containers")
    yield from host_port_faults(path, containers)


def init_container_faults(path: str, spec: Object, volumes: Volumes) -> Iterator[FieldError]:
    """What is wrong with the containers that run first; those that go on running are sidecars."""
    names = {one.get("name") or "" for one in spec.get("containers") or ()}
    grace = spec.get("terminationGracePeriodSeconds")
    for index, container in enumerate(spec.get("initContainers") or ()):
        at, name = f"{path}[{index}]", container.get("name") or ""
        yield from _common_faults(at, container, volumes)
        policy = container.get("restartPolicy")
        if policy not in (None, "Always"):
            yield unsupported(f"{at}.restartPolicy", policy, ("Always",))
        if name in names:
            yield duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        yield from host_port_faults(path, (container,))
        if policy == "Always":
            yield from lifecycle_faults(f"{at}.lifecycle", container.get("lifecycle"), grace)
            yield from probe_faults(at, container, grace)
        else:
            yield from _forbidden(
                at, container, _SIDECARS_ONLY, "may not be set for init containers without restartPolicy=Always"
            )


def ephemeral_container_faults(path: str, spec: Object, volumes: Volumes) -> Iterator[FieldError]:
    """What is wrong with the containers that were added for a look around."""
    others = {one.get("name") for key in ("containers", "initContainers") for one in spec.get(key) or ()}
    names = set(others)
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        at, name = f"{path}[{index}]", container.get("name") or ""
        yield from _common_faults(at, container, volumes)
        yield from image_faults(at, container)
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            yield missing(f"{at}.targetContainerName", target)
        yield from _forbidden(at, container, _NOT_EPHEMERAL, _EPHEMERAL)
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            yield from _forbidden(f"{at}.volumeMounts[{number}]", mount, ("subPath", "subPathExpr"), _EPHEMERAL)


def _forbidden(path: str, holder: Object, names: Sequence[str], text: str) -> Iterator[FieldError]:
    """Fields that are given though they may not be; an empty structure of a pointer counts as given."""
    given = (name for name in names if holder.get(name) or (name in _PROBES and holder.get(name) is not None))
    return (forbidden_field(f"{path}.{name}", text) for name in given)


def image_faults(path: str, container: Object) -> Iterator[FieldError]:
    """What is wrong with an image where the container really is to run, and not in a template."""
    image = container.get("image") or ""
    if image.strip() != image:
        yield invalid_value(f"{path}.image", image, _WHITESPACE)


def _common_faults(path: str, container: Object, volumes: Volumes) -> Iterator[FieldError]:
    name = container.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    else:
        yield from (invalid_value(f"{path}.name", name, text) for text in dns_label(name))
    if not container.get("image"):
        yield required(f"{path}.image")
    yield from _choice_faults(f"{path}.terminationMessagePolicy", container, _MESSAGE_POLICIES)
    if "ports" in container:
        yield from _port_faults(f"{path}.ports", container["ports"] or ())
    if "env" in container:
        yield from environment_faults(f"{path}.env", container)
    if "envFrom" in container:
        yield from environment_source_faults(f"{path}.envFrom", container)
    if "volumeMounts" in container:
        yield from mount_faults(f"{path}.volumeMounts", container, volumes)
    if "volumeDevices" in container:
        yield from device_faults(f"{path}.volumeDevices", container, volumes)
    yield from _choice_faults(f"{path}.imagePullPolicy", container, _PULL_POLICIES)
    if container.get("resources"):
        yield from resource_faults(f"{path}.resources", container["resources"])
    yield from container_security_faults(f"{path}.securityContext", container.get("securityContext"))


def _choice_faults(path: str, container: Object, choices: Sequence[str]) -> Iterator[FieldError]:
    value = container.get(path.rpartition(".")[2]) or ""
    if not value:
        yield required(path)
    elif value not in choices:
        yield unsupported(path, value, choices)


def _port_faults(path: str, ports: Sequence[Object]) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name") or ""
        if name:
            wrong = port_name(name)
            yield from (invalid_value(f"{at}.name", name, text) for text in wrong)
            if not wrong and name in names:
                yield duplicate(f"{at}.name", name)
            elif not wrong:
                names.add(name)
        yield from _port_number_faults(at, port)
        protocol = port.get("protocol") or ""
        if not protocol:
            yield required(f"{at}.protocol")
        elif protocol not in _PROTOCOLS:
            yield unsupported(f"{at}.protocol", protocol, _PROTOCOLS)


def _port_number_faults(path: str, port: Object) -> Iterator[FieldError]:
    for name in ("containerPort", "hostPort"):
        number = port.get(name) or 0
        if not number and name == "containerPort":
            yield required(f"{path}.{name}")
        elif number and not 1 <= number <= 65535:
            yield invalid_value(f"{path}.{name}", number, PORT_RANGE)


def host_port_faults(path: str, containers: Sequence[Object]) -> Iterator[FieldError]:
    """Ports of the node that are asked for twice."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            place = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if place in taken:
                yield duplicate(f"{path}[{index}].ports[{number}].hostPort", place)
            taken.add(place)
